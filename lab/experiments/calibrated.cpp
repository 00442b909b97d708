// Table 2, figures 2 and 3 and section 7.2 of Busa-Fekete et al. 2011: reads the sets, measures as LETOR's
// tools do, fills in the table and judges the paper's claims. calibrated_fold.cpp trains and chooses. Quick:
// six settings, at most 100 rounds, 200 points per Gaussian process. Normal: all settings, up to 1,000 rounds
// as long as validation improves. Full: up to 10,000 rounds without early stopping.
#include "lab/experiments/calibrated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "core/text_file.h"
#include "lab/experiments/average_ranks.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"

namespace metafuse::lab::experiments {
namespace calibrated {
namespace {

using namespace adaboost_mh;

constexpr const char* kRows[] = {
    "ensemble, CPC",         "ensemble, RBC", "ensemble, CPC+RBC", "AdaBoost.MH, trees",
    "AdaBoost.MH, products", "RankBoost",     kEqualRankBoost,     kAutoRow};
constexpr int kFolds = 5;

/// A column of table 2 as (name, figure): first our rows, then the other methods.
std::vector<std::pair<std::string, double>> table_2(const std::array<double, 10>& figures) {
  constexpr std::array kNames = {"ensemble, CPC",
                                 "ensemble, RBC",
                                 "ensemble, CPC+RBC",
                                 "AdaBoost.MH, trees",
                                 "AdaBoost.MH, products",
                                 "RankBoost",
                                 "AdaRank-MAP",
                                 "AdaRank-NDCG",
                                 "ListNet",
                                 "RankSVM"};
  std::vector<std::pair<std::string, double>> column;
  for (std::size_t i = 0; i < kNames.size(); ++i) column.emplace_back(kNames[i], figures[i]);
  return column;
}

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find(' '));
}

/// The line number of each document of a part, found by query and id; the training set is in a
/// different order.
Result<std::vector<std::size_t>> lines_of(const DataSet& set, const std::string& data, int part,
                                          const fusion::TrainingSet& documents) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const std::string path = with_packing(fmt::format("{}/{}/S{}.txt", data, set.folder, part));
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    places[{std::string(after(line, "qid:")), std::string(after(line, "#docid = "))}] = number;
    return {};
  }));
  std::vector<std::size_t> lines;
  for (const auto& query : documents.queries)
    for (std::size_t d = query.begin; d < query.end; ++d) {
      const auto found = places.find({query.id, std::string(documents.documents[d])});
      if (found == places.end())
        return fail(Code::bad_data,
                    fmt::format("{}: a document of query {} has no #docid; use the file as distributed", path,
                                query.id));
      lines.push_back(found->second);
    }
  return lines;
}

}  // namespace

std::vector<DataSet> data_sets(const std::string& data) {
  std::vector<DataSet> sets = {
      {"OHSUMED", "letor3-OHSUMED/QueryLevelNorm", evaluation::Mode::letor3, "ndcg_cut_10",
       table_2({.4621, .4493, .4561, .4164, .4162, .4302, .4429, .4496, .4410, .4140})},
      {"MQ2008", "letor4-MQ2008", evaluation::Mode::letor4, "mean_ndcg",
       table_2({.4998, .5004, .5006, .4843, .4768, .4850, .4915, .4950, .4914, .4832})}};
  if (std::filesystem::exists(data + "/letor4-MQ2007"))
    sets.push_back({"MQ2007", "letor4-MQ2007", evaluation::Mode::letor4, "mean_ndcg",
                    table_2({.4975, .4976, .4974, .4868, .4785, .5003, .4891, .4914, .4988, .4966})});
  return sets;
}

Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold) {
  TRY(auto split, read_letor_split(data + "/" + set.folder, static_cast<std::size_t>(fold - 1)));
  FoldData out;
  out.mode = set.mode;
  TRY(out.grades, class_grades(split.train));
  out.gains = gains_of(out.grades);
  TRY(out.test_lines, lines_of(set, data, (fold + 3) % 5 + 1, split.test));
  for (auto [source, part] : {std::pair{&split.train, &out.training},
                              {&split.validate, &out.validation},
                              {&split.test, &out.test}}) {
    TRY(part->documents, graded_documents(*source, out.grades));
    part->set = std::move(*source);
  }
  return out;
}

Result<std::vector<FoldData>> read_folds(const DataSet& set, const std::string& data) {
  std::vector<FoldData> folds;
  for (int fold = 1; fold <= kFolds; ++fold) {
    TRY(auto read, read_fold(set, data, fold));
    folds.push_back(std::move(read));
  }
  return folds;
}

namespace {

/// The values that the LETOR tools print, one row per query.
/// in: lines - per document, which orders equal scores; empty: they keep the order of their ids
std::vector<std::vector<double>> values_by_tool(const FoldData& data, const GradedDocuments& documents,
                                                const std::vector<double>& scores,
                                                const std::vector<std::size_t>& lines) {
  static const auto set = evaluation::parse_measures("ndcg_cut_1,2,3,4,5,6,7,8,9,10,mean_ndcg");
  evaluation::Rules rules;
  rules.mode = data.mode;
  std::vector<std::vector<double>> values;
  for (const RowRange& query : documents.queries) {
    std::vector<std::size_t> rows(query.end - query.begin);
    std::iota(rows.begin(), rows.end(), query.begin);
    if (!lines.empty())
      std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return lines[a] < lines[b]; });
    std::vector<double> part, part_grades;
    for (const std::size_t row : rows) {
      part.push_back(scores[row]);
      part_grades.push_back(data.grades[static_cast<std::size_t>(documents.classes[row])]);
    }
    values.push_back(evaluation::evaluate(
        *set, evaluation::judged_ranking(part_grades, evaluation::order_by_score(part), part), rules));
  }
  return values;
}

}  // namespace

std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             bool are_ties_by_id) {
  return values_by_tool(data, data.test.documents, scores,
                        are_ties_by_id ? std::vector<std::size_t>() : data.test_lines);
}

double tool_ndcg_10(const FoldData& data, const std::vector<double>& scores) {
  return mean_by(values_by_tool(data, data.validation.documents, scores, {}),
                 [](const std::vector<double>& query) { return query[kDepth - 1]; });
}

Plan plan_of(const ExperimentOptions& options) {
  Plan plan;
  plan.threads = options.threads;
  plan.seed = options.seed;
  plan.settings = all_settings();
  plan.round_counts = {10, 20, 50, 100, 200, 500, 1000};
  plan.rankboost_rounds = {25, 50, 100, 200};
  if (options.is_full()) {
    plan.round_counts.insert(plan.round_counts.end(), {2000, 5000, 10000});
    plan.stops_early = false;
  }
  if (options.is_quick()) {
    plan.settings = {{BaseKind::tree, 5},    {BaseKind::tree, 15},   {BaseKind::tree, 30},
                     {BaseKind::product, 2}, {BaseKind::product, 5}, {BaseKind::product, 10}};
    plan.round_counts = {10, 20, 50, 100};
    plan.rankboost_rounds = {25, 50, 100};
    plan.process_points = 200;
  }
  return plan;
}

namespace {

/// Fisher's method: combines independent p values into one.
double fisher(const std::vector<double>& p) {
  double sum = 0.0;
  for (const double each : p) sum -= 2.0 * std::log(std::max(each, 1e-300));
  return chi_square_tail(sum, 2 * p.size());
}

std::string table_of(const DataSet& set, const SetResult& result) {
  Table table{{{set.name + ", " + set.measure, "here", "paper", "difference"}}};
  for (int fold = 1; fold <= kFolds; ++fold) table.rows[0].push_back("fold " + std::to_string(fold));
  auto lines = set.published;
  lines.emplace_back(kEqualRankBoost, std::nan(""));
  lines.emplace_back(kAutoRow, std::nan(""));
  lines.emplace_back(kFileOrder, std::nan(""));
  for (const auto& [name, published] : lines) {
    const std::string paper = std::isnan(published) ? "-" : fixed(published, 4);
    std::vector<std::string> row = {name, "-", paper, "-"};
    if (const auto found = result.methods.find(name); found != result.methods.end()) {
      const double own = mean_of(found->second.fold_means);
      row[1] = fixed(own, 4);
      if (!std::isnan(published)) row[3] = fixed(own - published, 4);
      for (const double value : found->second.fold_means) row.push_back(fixed(value, 4));
    }
    row.resize(table.rows[0].size(), "");
    table.add(std::move(row));
  }
  std::string text = table.text() + "\nchosen by the mean of the folds' validation parts (NDCG@10 there):\n";
  for (const char* name : kRows)
    text += fmt::format("  {}: {} ({:.4f})\n", name, result.methods.at(name).choice,
                        result.methods.at(name).validation);
  return text;
}

/// Fig. 3.
Table diversity_of(const DataSet& set, const SetResult& result) {
  Table table{{{set.name + ": p, CPC against CPC"}}};
  for (const auto target : kSigmoidTargets) table.rows[0].emplace_back(name_of(target));
  for (std::size_t a = 0; a < kTargets; ++a) {
    std::vector<std::string> row = {std::string(name_of(kSigmoidTargets[a]))};
    for (std::size_t b = 0; b < kTargets; ++b)
      row.push_back(a < b ? fixed(fisher(result.p[a][b]), 4) : a == b ? "1" : "");
    table.add(std::move(row));
  }
  return table;
}

/// The published sheets that fig. 2 draws, judged at every k.
void compare_with_sheets(const SetResult& result, const PublishedNdcg& sheets,
                         std::vector<evaluation::Curve>& curves, Report& report) {
  const std::vector<double>& own = result.methods.at("ensemble, CPC+RBC").ndcg;
  for (const char* name : {"AdaRank-MAP", "AdaRank-NDCG", "ListNet", "RankBoost", "RankSVM"})
    for (const auto& [sheet, ndcg] : sheets) {
      if (sheet != name) continue;
      curves.push_back(curve_of("published " + sheet, ndcg));
      std::size_t above = 0;
      for (std::size_t k = 0; k < std::min(own.size(), ndcg.size()); ++k) above += own[k] > ndcg[k] ? 1U : 0U;
      report.judge_count(
          fmt::format("OHSUMED: the ensemble CPC+RBC is above the published {} at almost every k (fig. 2)",
                      name),
          above, ndcg.size(), ndcg.size() - 1);
    }
}

void describe(const DataSet& set, const SetResult& result, const PublishedNdcg& sheets, Report& report,
              JsonArray& json) {
  report.text += table_of(set, result) + "\n";
  report.add(diversity_of(set, result));
  report.text += "\n";
  std::vector<evaluation::Curve> curves;
  for (const char* name : kRows) curves.push_back(curve_of(name, result.methods.at(name).ndcg));
  if (set.name == "OHSUMED") compare_with_sheets(result, sheets, curves, report);
  report.plot(curves, set.name + ": NDCG@k (fig. 2)", "k", "NDCG@k");
  JsonObject rows;
  for (const auto& [name, method] : result.methods)
    rows[name] = JsonObject{{"mean", mean_of(method.fold_means)},
                            {"validation", method.validation},
                            {"folds", json_array(method.fold_means)},
                            {"ndcg_at", json_array(method.ndcg)}};
  for (const auto& [name, published] : set.published) {
    if (!rows.contains(name)) rows[name] = JsonObject();
    rows[name].as_object()["published"] = published;
  }
  json.push_back(JsonObject{{"set", set.name}, {"measure", set.measure}, {"rows", std::move(rows)}});
}

void add_claims(const DataSet& set, const SetResult& result, Report& report) {
  const auto value = [&](const std::string& name) { return mean_of(result.methods.at(name).fold_means); };
  for (const auto& [name, published] : set.published)
    if (name.starts_with("ensemble"))
      report.judge(fmt::format("{}: {} within .01 of the published figure, or above", set.name, name),
                   value(name) >= published - 0.01,
                   fmt::format("{:.4f}, published {:.4f}", value(name), published));
  const double sigmoids = value("ensemble, CPC");
  const double regressions = value("ensemble, RBC");
  const double least = std::min({value("ensemble, CPC+RBC"), sigmoids, regressions});
  for (const auto& [name, published] : set.published)
    if (!result.methods.contains(name))
      report.judge(fmt::format("{}: all three ensembles are above the published {}", set.name, name),
                   least > published, fmt::format("the least has {:.4f}, {} {:.4f}", least, name, published));
  const bool is_reversed_in_paper = set.name == "OHSUMED";
  report.judge(fmt::format("{}: {} (sec. 8: CPC beats RBC on OHSUMED only)", set.name,
                           is_reversed_in_paper ? "CPC beats RBC" : "RBC is as good as CPC or better"),
               is_reversed_in_paper ? sigmoids > regressions : regressions >= sigmoids,
               fmt::format("CPC {:.4f}, RBC {:.4f}", sigmoids, regressions));
  const double own = value("ensemble, CPC+RBC");
  const double trees = value("AdaBoost.MH, trees");
  const double products = value("AdaBoost.MH, products");
  report.judge(set.name + ": calibration and ensemble improve on plain AdaBoost.MH",
               own > std::max(trees, products),
               fmt::format("{:.4f} against {:.4f} and {:.4f}", own, trees, products));
  for (const char* name : {"RankBoost", kEqualRankBoost, kAutoRow})
    report.judge(fmt::format("{}: all three ensembles are above {} as trained here", set.name, name),
                 least > value(name),
                 fmt::format("the least has {:.4f}, {} {:.4f}", least, name, value(name)));
}

}  // namespace
}  // namespace calibrated

Result<Report> run_calibrated(const ExperimentOptions& options) {
  using namespace calibrated;
  const Plan plan = plan_of(options);
  const auto sets = data_sets(options.data);
  Report report;
  JsonArray json;
  TRY(const auto sheets, read_published_ndcg(options.data + "/letor3-baselines/OHSUMED.csv"));
  std::size_t done = 0;
  for (const DataSet& set : sets) {
    TRY(const auto folds, read_folds(set, options.data));
    TRY(const auto result, run_set(set, folds, plan, [&] {
          if (options.progress) options.progress(++done, sets.size() * plan.round_counts.size());
        }));
    describe(set, result, sheets, report, json);
    add_claims(set, result, report);
  }
  if (sets.size() == 2)
    report.text += "MQ2007 is left out: put its parts S1.txt to S5.txt into letor4-MQ2007 below --data\n";
  report.json["sets"] = std::move(json);
  return report;
}

}  // namespace metafuse::lab::experiments
