#include "evaluation/runs/judgments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "evaluation/runs/lines.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {
namespace {

constexpr const char* kJudgmentColumns = "a qrels line is: topic iteration document grade";

/// Parses the line and moves the parser to its end; `group` is the second column.
Result<Judgment> parse_judgment(const FileText& file, LineParser& parser, std::string_view& group) {
  const char* const begin = parser.at();
  parser.field();
  group = parser.field();
  Judgment judgment;
  judgment.document = parser.field();
  const std::string_view grade = parser.field();
  if (grade.empty())
    return bad_line(file, begin, std::string("too few columns or a control byte; ") + kJudgmentColumns);
  std::int64_t value = 0;
  if (!to_integer(grade, value) || !std::in_range<int>(value))
    return bad_line(file, begin, "the grade " + shown(grade) + " is not a whole number; " + kJudgmentColumns);
  judgment.grade = static_cast<int>(value);
  if (!parser.at_line_end())
    return bad_line(file, begin,
                    std::string("too many columns (ids must not contain blanks); ") + kJudgmentColumns);
  return judgment;
}

/// Sorts a query's judgments, which are complete now.
Result<void> sort_documents(const FileText& file, QueryJudgments& query) {
  auto& documents = query.documents;
  documents.shrink_to_fit();
  if (!std::ranges::is_sorted(documents, {}, &Judgment::document))
    std::ranges::stable_sort(documents, {}, &Judgment::document);
  const auto twice = std::ranges::adjacent_find(documents, {}, &Judgment::document);
  if (twice == documents.end()) return {};
  return bad_line(file, (twice + 1)->document.data(),
                  "the document " + shown(twice->document) + " is judged twice in topic " +
                      shown(query.query) + ", first in line " +
                      std::to_string(file.line_of(twice->document.data())) + "; remove one");
}

/// Reads the judgments of each group, ascending by name; of one group without name unless `has_groups`.
Result<std::map<std::string_view, Judgments>> read_groups(const std::string& path, bool has_groups) {
  TRY(auto index, index_topics(path));
  std::map<std::string_view, Judgments> groups;
  Judgments* const only = has_groups ? nullptr : &groups[{}];
  if (only != nullptr) only->queries.reserve(index.topic_count());
  for (std::size_t topic = 0; topic < index.topic_count(); ++topic)
    for (const TopicPiece& piece : index.pieces_of(topic)) {
      const char* const end = piece.lines.data() + piece.lines.size();
      for (LineParser parser(piece.lines.data(), end); parser.at() < end;
           parser.move_to(parser.next_line())) {
        std::string_view group;
        TRY(const auto judgment, parse_judgment(index.file, parser, group));
        auto& queries = (only != nullptr ? *only : groups[group]).queries;
        if (queries.empty() || queries.back().query != index.topic(topic))
          queries.push_back({index.topic(topic), {}});
        queries.back().documents.push_back(judgment);
      }
    }
  for (auto& [group, judgments] : groups) {
    judgments.storage = index.file.storage;
    for (QueryJudgments& query : judgments.queries) TRY_VOID(sort_documents(index.file, query));
  }
  return groups;
}

}  // namespace

const Judgment* QueryJudgments::find(std::string_view document) const {
  const auto at = std::ranges::lower_bound(documents, document, {}, &Judgment::document);
  return at != documents.end() && at->document == document ? &*at : nullptr;
}

const QueryJudgments* Judgments::find(std::string_view query) const {
  const auto at = std::ranges::lower_bound(queries, query, {}, &QueryJudgments::query);
  return at != queries.end() && at->query == query ? &*at : nullptr;
}

Result<Judgments> read_qrels(const std::string& path) {
  TRY(auto groups, read_groups(path, false));
  return std::move(groups.begin()->second);
}

Result<std::vector<Judgments>> read_qrels_groups(const std::string& path) {
  TRY(auto by_name, read_groups(path, true));
  std::vector<Judgments> groups;
  for (auto& [name, judgments] : by_name) groups.push_back(std::move(judgments));
  return groups;
}

}  // namespace metafuse::evaluation
