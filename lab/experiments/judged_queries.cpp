#include "lab/experiments/judged_queries.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/number.h"
#include "core/text_file.h"
#include "evaluation/runs/lines.h"
#include "evaluation/significance/significance.h"
#include "fusion/input/input_files.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/indexed_documents.h"

namespace metafuse::lab::experiments {
namespace {

/// Reads the runs of one file, which its sixth column tells apart.
Result<std::vector<evaluation::Run>> read_joined_runs(const std::string& path) {
  constexpr int kTagColumn = 6;
  std::map<std::string, std::string> texts;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    evaluation::LineParser parser(line.data(), line.data() + line.size());
    std::string_view tag;
    for (int column = 0; column < kTagColumn; ++column) tag = parser.field();
    if (tag.empty() || tag.find('/') != std::string_view::npos)
      return fail(Code::bad_data,
                  fmt::format("{}:{}: the sixth column must name the run, without a slash", path, number));
    (texts[std::string(tag)] += line) += '\n';
    return {};
  }));
  TRY(const auto folder, WorkFolder::make());
  return read_run_texts(texts, folder->path());
}

Result<RunCollection> trec_collection(const std::string& data, const std::string& name,
                                      const std::string& stem) {
  RunCollection collection;
  collection.name = name;
  collection.measures = "map,ndcg_cut_10,P_10,recip_rank";
  const std::string path = data + "/trec-runs-top100/" + stem;
  TRY(collection.runs, read_joined_runs(path + ".top100.runs.xz"));
  TRY(collection.judgments, evaluation::read_qrels(path + ".qrels.xz"));
  return collection;
}

}  // namespace

Result<RunCollection> read_trec3(const std::string& data) {
  return trec_collection(data, "TREC-3 ad hoc", "TREC-3");
}

Result<RunCollection> read_covid_round1(const std::string& data) {
  return trec_collection(data, "TREC-COVID round 1", "covid-round1");
}

/// Ids are FW13-e<engine>-<topic>-<position>; an engine's list is its documents ordered by position.
Result<RunCollection> read_fedweb(const std::string& data) {
  const std::string folder = data + "/fedweb2013-qrels";
  RunCollection collection;
  collection.name = "FedWeb 2013, 157 engines";
  collection.measures = "ndcg_cut_20,P_10,recip_rank,map";
  collection.folds = 10;
  collection.limit = 0;
  TRY(collection.judgments, evaluation::read_qrels(folder + "/FW13-QRELS-RM.txt.xz"));
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

Result<std::vector<std::size_t>> random_parts(const fusion::TrainingSet& set, std::size_t count,
                                              std::uint64_t seed) {
  std::vector<std::string_view> ids;
  for (const fusion::QueryRange& query : set.queries) ids.emplace_back(query.id);
  TRY(auto folds, evaluation::random_folds(ids, count, seed));
  return std::move(folds.fold_of);
}

Division divided(const std::vector<std::size_t>& part_of, std::size_t part) {
  Division out;
  for (std::size_t query = 0; query < part_of.size(); ++query)
    (part_of[query] == part ? out.test : out.train).push_back(query);
  return out;
}

Result<JudgedQueries> judged_runs(Result<RunCollection> read, std::uint64_t seed) {
  TRY(auto collection, std::move(read));
  fusion::TrainingInputReport report;
  TRY(auto set, fusion::training_set_of(std::move(collection.runs), collection.judgments, {}, report));
  TRY(auto part_of, random_parts(set, kFifths, seed));
  return JudgedQueries{collection.name, std::move(set), std::move(part_of), false, collection.limit};
}

namespace {

/// One of LETOR's aggregation sets, with its own parts.
Result<JudgedQueries> read_aggregation(const std::string& data, const std::string& name) {
  fusion::TrainingInput all;
  std::map<std::string, std::size_t, std::less<>> part_of;
  for (std::size_t i = 0; i < kFifths; ++i) {
    const std::string path = aggregation_part(data, name, i + 1);
    all.letor_ranks.push_back(path);
    fusion::TrainingInput input;
    input.letor_ranks = {path};
    TRY(const auto part, fusion::read_training_set(input));
    for (const fusion::QueryRange& query : part.queries) part_of[query.id] = i;
  }
  TRY(auto set, fusion::read_training_set(all));
  JudgedQueries out{name, std::move(set), {}, true, 0};
  for (const fusion::QueryRange& query : out.set.queries) out.part_of.push_back(part_of[query.id]);
  return out;
}

Result<JudgedQueries> record_demonstration(const ExperimentOptions& options, std::uint64_t seed) {
  TRY(const auto pages, home_pages::IndexedPages::open(options.data));
  home_pages::SampleOptions sampling;
  sampling.seed = seed;
  TRY(auto set, pages->record(sampling, options.threads));
  TRY(auto part_of, random_parts(set, kFifths, options.seed));
  return JudgedQueries{"home pages", std::move(set), std::move(part_of)};
}

}  // namespace

bool has_set(std::string_view name, const ExperimentOptions& options, Report& report) {
  if (name != kHomePages || std::filesystem::exists(options.data + "/packages.txt")) return true;
  report.leave("the same on the demonstration's lists",
               "the data folder has no packages.txt; apt-cache dumpavail > packages.txt makes it");
  return false;
}

Result<JudgedQueries> read_judged_queries(std::string_view name, const ExperimentOptions& options,
                                          std::uint64_t sample) {
  if (name == kHomePages) return record_demonstration(options, options.seed + sample);
  if (name == "TREC-3") return judged_runs(read_trec3(options.data), options.seed);
  if (name == "TREC-COVID") return judged_runs(read_covid_round1(options.data), options.seed);
  if (name == "FedWeb") return judged_runs(read_fedweb(options.data), options.seed);
  return read_aggregation(options.data, std::string(name));
}

Result<void> for_each_set(std::initializer_list<std::string_view> names, const ExperimentOptions& options,
                          Report& report, const std::function<Result<void>(const JudgedQueries&)>& work) {
  for (const std::string_view name : names) {
    if (!has_set(name, options, report)) continue;
    TRY(const auto queries, read_judged_queries(name, options));
    TRY_VOID(work(queries));
  }
  return {};
}

std::vector<double> values_of(const JudgedQueries& queries, const fusion::TrainingSet& set,
                              const std::vector<double>& scores, const std::string& measure) {
  const auto measures = evaluation::parse_measures(measure);
  std::vector<double> values;
  for (const auto& row : QueryMeasures(set, *measures, queries.limit).of(scores)) values.push_back(row[0]);
  return values;
}

Trial::Trial(const JudgedQueries& from, Division division, std::string tested_by, std::uint64_t seed)
    : queries(from),
      test(std::move(division.test)),
      train_set(fusion::select_queries(queries.set, division.train)),
      test_set(fusion::select_queries(queries.set, test)),
      measure(std::move(tested_by)) {
  request.seed = seed;
}

std::vector<double> means_over_queries(const std::vector<PartValues>& parts) {
  std::vector<double> means;
  for (std::size_t method = 0; method < parts.front().size(); ++method) {
    std::vector<double> all;
    for (const PartValues& part : parts) all.insert(all.end(), part[method].begin(), part[method].end());
    means.push_back(mean_of(all));
  }
  return means;
}

}  // namespace metafuse::lab::experiments
