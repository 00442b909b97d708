#include "evaluation/runs/judgments.h"

#include <algorithm>
#include <limits>
#include <map>

#include "evaluation/runs/lines.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

constexpr const char* kJudgmentColumns = "a qrels line is: topic iteration document grade";

Result<void> parse_judgment(const FileText& file, LineParser& parser, Judgment& judgment,
                            std::string_view& iteration) {
  const char* const begin = parser.at();
  parser.field();
  iteration = parser.field();
  judgment.document = parser.field();
  const std::string_view grade = parser.field();
  if (grade.empty())
    return bad_line(file, begin, std::string("too few columns or a control byte; ") + kJudgmentColumns);
  std::int64_t value = 0;
  if (!to_integer(grade, value) || value < std::numeric_limits<int>::min() ||
      value > std::numeric_limits<int>::max())
    return bad_line(file, begin, "the grade " + shown(grade) + " is not a whole number; " + kJudgmentColumns);
  judgment.grade = static_cast<int>(value);
  if (!parser.at_line_end())
    return bad_line(file, begin,
                    std::string("too many columns (ids must not contain blanks); ") + kJudgmentColumns);
  return {};
}

Result<void> sort_documents(const FileText& file, QueryJudgments& query) {
  auto& documents = query.documents;
  const auto before = [](const Judgment& a, const Judgment& b) { return a.document < b.document; };
  if (!std::is_sorted(documents.begin(), documents.end(), before))
    std::stable_sort(documents.begin(), documents.end(), before);
  const auto twice = std::adjacent_find(documents.begin(), documents.end(), [](const auto& a, const auto& b) {
    return a.document == b.document;
  });
  if (twice == documents.end()) return {};
  return bad_line(file, (twice + 1)->document.data(),
                  "the document " + shown(twice->document) + " is judged twice in topic " +
                      shown(query.query) + ", first in line " +
                      std::to_string(file.line_of(twice->document.data())) + "; remove one");
}

}  // namespace

const Judgment* QueryJudgments::find(std::string_view document) const {
  const auto at = std::lower_bound(documents.begin(), documents.end(), document,
                                   [](const Judgment& j, std::string_view id) { return j.document < id; });
  return at != documents.end() && at->document == document ? &*at : nullptr;
}

const QueryJudgments* Judgments::find(std::string_view query) const {
  const auto at = std::lower_bound(queries.begin(), queries.end(), query,
                                   [](const QueryJudgments& q, std::string_view id) { return q.query < id; });
  return at != queries.end() && at->query == query ? &*at : nullptr;
}

namespace {

/// Calls take(topic number, group, judgment) for every line, in ascending order of topics.
template <class Take>
Result<void> for_each_judgment(const TopicIndex& index, Take take) {
  for (std::size_t topic = 0; topic < index.topic_count(); ++topic) {
    for (const TopicPiece& piece : index.pieces_of(topic)) {
      const char* const end = piece.lines.data() + piece.lines.size();
      LineParser parser(piece.lines.data(), end);
      while (parser.at() < end) {
        Judgment judgment;
        std::string_view iteration;
        if (auto parsed = parse_judgment(index.file, parser, judgment, iteration); !parsed) return parsed;
        take(topic, iteration, judgment);
        parser.move_to(parser.next_line());
      }
    }
  }
  return {};
}

/// Adds a judgment to its topic; topics must come in ascending order.
void add_judgment(Judgments& judgments, std::string_view topic, const Judgment& judgment) {
  if (judgments.queries.empty() || judgments.queries.back().query != topic)
    judgments.queries.push_back({topic, {}});
  judgments.queries.back().documents.push_back(judgment);
}

Result<void> sort_all(const FileText& file, Judgments& judgments) {
  for (QueryJudgments& query : judgments.queries) {
    if (auto sorted = sort_documents(file, query); !sorted) return sorted;
    query.documents.shrink_to_fit();
  }
  return {};
}

}  // namespace

Result<Judgments> read_qrels(const std::string& path) {
  TRY(auto index, index_topics(path));
  Judgments judgments;
  judgments.storage = index.file.storage;
  judgments.queries.reserve(index.topic_count());
  auto read = for_each_judgment(index, [&](std::size_t topic, std::string_view, const Judgment& judgment) {
    add_judgment(judgments, index.topic(topic), judgment);
  });
  if (!read) return read.error();
  TRY_VOID(sort_all(index.file, judgments));
  return judgments;
}

Result<std::vector<Judgments>> read_qrels_groups(const std::string& path) {
  TRY(auto index, index_topics(path));
  std::map<std::string_view, Judgments> by_group;
  auto read =
      for_each_judgment(index, [&](std::size_t topic, std::string_view group, const Judgment& judgment) {
        add_judgment(by_group[group], index.topic(topic), judgment);
      });
  if (!read) return read.error();
  std::vector<Judgments> groups;
  for (auto& [group, judgments] : by_group) {
    judgments.storage = index.file.storage;
    TRY_VOID(sort_all(index.file, judgments));
    groups.push_back(std::move(judgments));
  }
  return groups;
}

}  // namespace metafuse::evaluation
