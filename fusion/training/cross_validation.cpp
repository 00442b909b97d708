#include "fusion/training/cross_validation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/text.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/fused_order.h"
#include "fusion/data/training_set.h"
#include "fusion/training/auto_learner.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

std::vector<Baseline> rank_baselines(double rrf_k) {
  std::vector<Baseline> out;
  for (const char* name : {"rrf", "combmnz", "borda", "searxng"}) {
    const FusionMethod* method = find_fusion_method(name);
    require(method != nullptr, "a baseline is a fusion method");
    FusionOptions options;
    if (method->name == "rrf") options.k = rrf_k;
    out.push_back({name, [method, options](const FeatureMatrix& matrix, std::size_t begin, std::size_t end) {
                     return fuse_scores(*method, lists_of(matrix, begin, end), options);
                   }});
  }
  return out;
}

namespace {

/// The rank (from 1) of the first relevant row, at most `cap`.
int best_rank(const TrainingSet& set, const std::vector<std::size_t>& order, int cap) {
  for (std::size_t i = 0; i < order.size() && static_cast<int>(i) + 1 < cap; ++i)
    if (is_relevant(set, set.grades[order[i]])) return static_cast<int>(i) + 1;
  return cap;
}

int best_rank_by_scores(const TrainingSet& set, const QueryRange& query, const std::vector<double>& scores,
                        int cap) {
  return best_rank(set, fused_order(set.matrix, query.begin, query.end, scores, set.documents), cap);
}

/// The list of a single feature holds only the documents that the feature ranks.
int best_rank_of_feature(const TrainingSet& set, const QueryRange& query, std::size_t feature, int cap) {
  std::vector<std::size_t> listed;
  for (std::size_t row = query.begin; row < query.end; ++row)
    if (!set.matrix.is_unranked(row, feature)) listed.push_back(row);
  std::stable_sort(listed.begin(), listed.end(), [&](std::size_t a, std::size_t b) {
    return set.matrix.value(a, feature) > set.matrix.value(b, feature);
  });
  return best_rank(set, listed, cap);
}

/// Ranks one query with every method that needs no training.
void rank_untrained(const TrainingSet& set, const QueryRange& query, const CrossValidationOptions& options,
                    CrossValidation& result) {
  const int cap = options.depth + 1;
  for (std::size_t b = 0; b < options.baselines.size(); ++b) {
    const auto scores = options.baselines[b].score(set.matrix, query.begin, query.end);
    result.baselines[b].best_rank.push_back(best_rank_by_scores(set, query, scores, cap));
  }
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
    result.features[f].best_rank.push_back(best_rank_of_feature(set, query, f, cap));
}

/// Trains on all folds but one and writes the ranks of that fold's answerable queries to `ranks` (indexed
/// as set.queries).
Result<TrainingResult> run_fold(const TrainingSet& set, const evaluation::Folds& folds, std::size_t fold,
                                const CrossValidationOptions& options, std::vector<int>& ranks) {
  std::vector<std::size_t> inside;
  std::vector<std::size_t> outside;
  for (std::size_t q = 0; q < set.queries.size(); ++q)
    (folds.fold_of[q] == fold ? inside : outside).push_back(q);
  const TrainingSet train = select_queries(set, outside);
  TrainingRequest request;
  request.train = &train;
  request.options = options.learner_options;
  request.measure.name = options.measure_name;
  request.seed = options.seed;
  request.threads = options.threads;
  auto trained = options.learner->train(request);
  if (!trained)
    return fail(trained.error().code, "fold " + std::to_string(fold + 1) + ": " + trained.error().text);
  const TrainingSet held_out = select_queries(set, inside);
  const std::vector<double> scores = trained->model.ranker->score(held_out.matrix);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const QueryRange& query = held_out.queries[i];
    const std::vector<double> part(scores.begin() + static_cast<std::ptrdiff_t>(query.begin),
                                   scores.begin() + static_cast<std::ptrdiff_t>(query.end));
    ranks[inside[i]] = best_rank_by_scores(held_out, query, part, options.depth + 1);
  }
  return trained;
}

constexpr std::uint64_t kSeedOfInterval = 1;
constexpr std::array kTopColumns = {1, 2, 5, 10, 20, 30};

std::string line_of(const std::string& name, const std::vector<std::string>& cells) {
  std::string line(truncate_utf8(name, 40));
  line.resize(std::max<std::size_t>(24, line.size()), ' ');
  for (const std::string& cell : cells) line += fmt::format(" {:>8}", cell);
  return line + '\n';
}

std::string row_of(const MethodRanks& method) {
  std::vector<std::string> cells;
  for (const int k : kTopColumns) cells.push_back(std::to_string(method.top(k)));
  cells.push_back(fmt::format("{:.2f}", method.average_rank()));
  return line_of(method.name, cells);
}

/// The best single feature in each column.
std::string best_feature_row(const CrossValidation& result) {
  std::vector<std::string> cells;
  for (const int k : kTopColumns) {
    std::size_t best = 0;
    for (const MethodRanks& feature : result.features) best = std::max(best, feature.top(k));
    cells.push_back(std::to_string(best));
  }
  double best = result.depth + 1;
  for (const MethodRanks& feature : result.features) best = std::min(best, feature.average_rank());
  cells.push_back(fmt::format("{:.2f}", best));
  return line_of("best feature a column", cells);
}

JsonObject json_of(const MethodRanks& method) {
  JsonObject out;
  out["name"] = method.name;
  for (const int k : kTopColumns) out["top_" + std::to_string(k)] = method.top(k);
  out["average_rank"] = method.average_rank();
  out["best_rank"] = JsonArray(method.best_rank.begin(), method.best_rank.end());
  return out;
}

JsonArray json_of(const std::vector<MethodRanks>& methods) {
  JsonArray out;
  for (const MethodRanks& method : methods) out.push_back(json_of(method));
  return out;
}

}  // namespace

std::size_t MethodRanks::top(int k) const {
  return static_cast<std::size_t>(
      std::count_if(best_rank.begin(), best_rank.end(), [&](int r) { return r <= k; }));
}

double MethodRanks::average_rank() const {
  if (best_rank.empty()) return 0.0;
  return static_cast<double>(std::accumulate(best_rank.begin(), best_rank.end(), 0LL)) /
         static_cast<double>(best_rank.size());
}

Result<CrossValidation> cross_validate(const TrainingSet& set, const evaluation::Folds& folds,
                                       const CrossValidationOptions& options) {
  require(options.learner != nullptr, "cross-validation needs a learner");
  require(folds.fold_of.size() == set.queries.size(), "one fold a query");
  CrossValidation result;
  result.depth = options.depth;
  result.folds = folds.count;
  result.learner.name = options.learner->name;
  for (const Baseline& baseline : options.baselines) result.baselines.push_back({baseline.name, {}});
  for (const Feature& feature : set.matrix.features()) result.features.push_back({feature.name, {}});
  std::vector<int> ranks(set.queries.size(), 0);
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    TRY(auto trained, run_fold(set, folds, fold, options, ranks));
    if (const Json* choice = trained.model.training.if_contains("auto")) result.choices.push_back(*choice);
    if (options.progress) options.progress(fold + 1, folds.count);
  }
  const std::vector<bool> answerable = are_answerable(set);
  for (std::size_t q = 0; q < set.queries.size(); ++q) {
    if (!answerable[q]) {
      ++result.unanswerable;
      continue;
    }
    result.queries.push_back(set.queries[q].id);
    result.fold_of.push_back(folds.fold_of[q]);
    result.learner.best_rank.push_back(ranks[q]);
    rank_untrained(set, set.queries[q], options, result);
  }
  if (result.queries.empty())
    return fail(Code::bad_data,
                "no query has a relevant document in any list; check that runs and judgments contain the "
                "same queries and documents");
  return result;
}

namespace {

/// "auto against rrf: the answer is higher in 30 queries and lower in 15; mean rank lower by 0.54
/// (95 % interval 0.02 to 1.08)". Empty without RRF among the baselines.
std::string against_rrf(const CrossValidation& result) {
  const auto rrf = std::find_if(result.baselines.begin(), result.baselines.end(),
                                [](const MethodRanks& method) { return method.name == "rrf"; });
  if (rrf == result.baselines.end()) return {};
  std::vector<double> gains;
  for (std::size_t q = 0; q < result.queries.size(); ++q)
    gains.push_back(rrf->best_rank[q] - result.learner.best_rank[q]);
  const auto interval = evaluation::bootstrap_interval(gains, kSeedOfInterval);
  return fmt::format(
      "\n{} against rrf: the answer is higher in {} queries and lower in {}; mean rank lower by {:.2f} (95 % "
      "interval {:.2f} to {:.2f})\n",
      result.learner.name, std::count_if(gains.begin(), gains.end(), [](double gain) { return gain > 0; }),
      std::count_if(gains.begin(), gains.end(), [](double gain) { return gain < 0; }),
      rrf->average_rank() - result.learner.average_rank(), interval.low, interval.high);
}

}  // namespace

std::string to_table(const CrossValidation& result) {
  std::string out = std::to_string(result.queries.size()) + " queries held out in " +
                    std::to_string(result.folds) + " folds; " + std::to_string(result.unanswerable) +
                    " more have no relevant document in any list and are left out\n\n";
  std::vector<std::string> titles;
  for (const int k : kTopColumns) titles.push_back("top " + std::to_string(k));
  titles.emplace_back("avg rank");
  out += line_of("", titles);
  out += row_of(result.learner);
  for (const MethodRanks& baseline : result.baselines) out += row_of(baseline);
  if (!result.features.empty()) out += best_feature_row(result);
  if (!result.choices.empty()) out += against_rrf(result);
  for (std::size_t fold = 0; fold < result.choices.size(); ++fold)
    out += fmt::format("{}fold {}: {} chose {}\n", fold == 0 ? "\n" : "", fold + 1, result.learner.name,
                       brief_choice_text({{"auto", result.choices[fold]}}));
  return out;
}

Json to_json(const CrossValidation& result) {
  JsonObject out;
  out["depth"] = result.depth;
  out["unanswerable"] = result.unanswerable;
  out["queries"] = JsonArray(result.queries.begin(), result.queries.end());
  JsonArray folds;
  for (const std::size_t fold : result.fold_of) folds.push_back(fold + 1);
  out["fold"] = std::move(folds);
  out["learner"] = json_of(result.learner);
  out["baselines"] = json_of(result.baselines);
  out["features"] = json_of(result.features);
  if (!result.choices.empty()) out["choices"] = JsonArray(result.choices.begin(), result.choices.end());
  return out;
}

}  // namespace metafuse::fusion
