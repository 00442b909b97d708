#include "experiments/run_collections.h"

#include <algorithm>
#include <map>

#include "core/number.h"
#include "core/text_file.h"
#include "evaluation/runs/lines.h"

namespace metafuse::experiments {
namespace {

/// A line of a file that contains many runs.
struct JoinedLine {
  std::string_view topic;
  evaluation::RunLine line;
};

/// The topics of one run's lines; each list is sorted as in any run: by score, rank, document.
std::vector<evaluation::RunTopic> topics_of(std::vector<JoinedLine>& lines) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const JoinedLine& a, const JoinedLine& b) { return a.topic < b.topic; });
  std::vector<evaluation::RunTopic> topics;
  for (std::size_t begin = 0; begin < lines.size();) {
    std::vector<evaluation::RunLine> list;
    std::size_t at = begin;
    for (; at < lines.size() && lines[at].topic == lines[begin].topic; ++at) list.push_back(lines[at].line);
    evaluation::sort_as_listed(list);
    evaluation::RunTopic topic{lines[begin].topic, {}};
    for (const evaluation::RunLine& line : list) topic.entries.push_back({line.document, line.score});
    topics.push_back(std::move(topic));
    begin = at;
  }
  return topics;
}

/// Reads the runs of one file, which its sixth column tells apart.
Result<std::vector<evaluation::Run>> read_joined_runs(const std::string& path) {
  TRY(auto file, open_text(path));
  std::map<std::string_view, std::vector<JoinedLine>> by_tag;
  const char* const end = file.text.data() + file.text.size();
  evaluation::LineParser parser(file.text.data(), end);
  while (parser.at() < end) {
    JoinedLine item;
    item.topic = parser.field();
    parser.field();
    item.line.document = parser.field();
    const std::string_view rank = parser.field();
    const std::string_view score = parser.field();
    const std::string_view tag = parser.field();
    if (!to_integer(rank, item.line.rank) || !to_double(score, item.line.score) || tag.empty() ||
        !parser.at_line_end())
      return evaluation::bad_line(file, parser.at(), "not a run line");
    by_tag[tag].push_back(item);
    parser.move_to(parser.next_line());
  }
  std::vector<evaluation::Run> runs;
  for (auto& [tag, lines] : by_tag) runs.push_back({std::string(tag), path, topics_of(lines), file.storage});
  return runs;
}

Result<RunCollection> trec_collection(const std::string& folder, const std::string& name,
                                      const std::string& stem) {
  RunCollection collection;
  collection.name = name;
  collection.measures = "map,ndcg_cut_10,P_10,recip_rank";
  TRY(auto runs, read_joined_runs(folder + "/" + stem + ".top100.runs.xz"));
  collection.runs = std::move(runs);
  TRY(auto judgments, evaluation::read_qrels(folder + "/" + stem + ".qrels.xz"));
  collection.judgments = std::move(judgments);
  return collection;
}

/// Ids are FW13-e<engine>-<topic>-<position>; an engine's list is its documents ordered by position.
Result<RunCollection> fedweb_collection(const std::string& folder) {
  RunCollection collection;
  collection.name = "FedWeb 2013, 157 engines";
  collection.measures = "ndcg_cut_20,P_10,recip_rank,map";
  collection.folds = 10;
  collection.limit = 0;
  TRY(auto judgments, evaluation::read_qrels(folder + "/FW13-QRELS-RM.txt.xz"));
  collection.judgments = std::move(judgments);
  std::map<std::string_view, evaluation::Run> runs;
  for (const evaluation::QueryJudgments& query : collection.judgments.queries)
    for (const evaluation::Judgment& judgment : query.documents) {
      const std::string_view id = judgment.document;
      const std::size_t engine_end = id.find('-', 5);
      const std::size_t position_begin = id.rfind('-');
      std::int64_t position = 0;
      if (!id.starts_with("FW13-e") || engine_end == std::string_view::npos ||
          !to_integer(id.substr(position_begin + 1), position))
        return fail(Code::bad_data, folder + ": the document id " + std::string(id) +
                                        " does not contain an engine and a position");
      evaluation::Run& run = runs[id.substr(5, engine_end - 5)];
      if (run.topics.empty() || run.topics.back().topic != query.query)
        run.topics.push_back({query.query, {}});
      run.topics.back().entries.push_back({id, 1.0 / static_cast<double>(position)});
    }
  for (auto& [engine, run] : runs) {
    run.name = engine;
    for (evaluation::RunTopic& topic : run.topics)
      std::stable_sort(topic.entries.begin(), topic.entries.end(),
                       [](const auto& a, const auto& b) { return a.score > b.score; });
    collection.runs.push_back(std::move(run));
  }
  return collection;
}

}  // namespace

Result<RunCollection> read_trec3(const std::string& data) {
  return trec_collection(data + "/trec-runs-top100", "TREC-3 ad hoc", "TREC-3");
}

Result<RunCollection> read_covid_round1(const std::string& data) {
  return trec_collection(data + "/trec-runs-top100", "TREC-COVID round 1", "covid-round1");
}

Result<RunCollection> read_fedweb(const std::string& data) {
  return fedweb_collection(data + "/fedweb2013-qrels");
}

}  // namespace metafuse::experiments
