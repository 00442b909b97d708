#include "fusion/training/certainty.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "core/json_members.h"
#include "core/parallel.h"
#include "core/random.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/learners/common/bagging.h"
#include "fusion/learners/common/validation.h"

namespace metafuse::fusion {
namespace {

constexpr double kTail = 0.05;  // share of bags cut off at each end of the interval of a weight

bool is_rank(const Feature& feature) {
  return feature.kind == FeatureKind::rank;
}

Result<Model> train_on(const TrainingSet& set, const CertaintyOptions& options) {
  TrainingRequest request;
  request.train = &set;
  request.options = options.learner_options;
  request.measure.name = options.measure;
  request.seed = options.seed;
  request.trace.is_wanted = false;
  TRY(auto trained, options.learner->train(request));
  return std::move(trained.model);
}

/// What rank 1 of each list contributes, as shares of the sum over all lists.
std::vector<double> shares_of_lists(const Ranker& ranker, const std::vector<Feature>& features) {
  FeatureMatrix probe(features, features.size() + 1);  // the last document is in no list
  for (std::size_t feature = 0; feature < features.size(); ++feature)
    if (is_rank(features[feature])) probe.set(feature, feature, -1.0);
  const std::vector<double> scores = ranker.score(probe);
  std::vector<double> shares;
  double sum = 0.0;
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    shares.push_back(is_rank(features[feature]) ? scores[feature] - scores.back() : 0.0);
    sum += std::abs(shares.back());
  }
  for (double& share : shares) share = sum > 0.0 ? share / sum : 0.0;
  return shares;
}

/// Trains the models in parallel: first one per fold, then one per bag.
Result<std::vector<Model>> train_all(const TrainingSet& set, const std::vector<std::size_t>& fold_of,
                                     std::size_t folds, const CertaintyOptions& options) {
  std::vector<Model> models(folds + options.bags);
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  const Random random(options.seed);
  const auto train = [&](std::size_t i) -> Result<void> {
    const std::vector<std::size_t> kept =
        i < folds ? outside_fold(fold_of, i) : bootstrap_sample(set.queries.size(), random.split(i - folds));
    TRY(models[i], train_on(select_queries(set, kept), options));
    ++done;
    if (options.progress && std::this_thread::get_id() == caller) options.progress(done, models.size());
    return {};
  };
  TRY_VOID(try_parallel_for(models.size(), options.threads, train));
  return models;
}

}  // namespace

std::pair<double, double> central_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::size_t>(kTail * static_cast<double>(values.size()));
  return {values[cut], values[values.size() - 1 - cut]};
}

namespace {

/// The share of each list, summarised over all bags.
JsonArray lists_json(const std::vector<Feature>& features, std::span<const Model> bags) {
  std::vector<std::vector<double>> shares;
  for (const Model& bag : bags) shares.push_back(shares_of_lists(*bag.ranker, features));
  JsonArray out;
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    if (!is_rank(features[feature])) continue;
    std::vector<double> values;
    for (const auto& share : shares) values.push_back(share[feature]);
    const auto [low, high] = central_values(values);
    const double count = static_cast<double>(values.size());
    const auto positive = std::ranges::count_if(values, [](double value) { return value > 0.0; });
    out.push_back(JsonObject{{"name", features[feature].name},
                             {"share", std::accumulate(values.begin(), values.end(), 0.0) / count},
                             {"low", low},
                             {"high", high},
                             {"positive", static_cast<double>(positive) / count}});
  }
  return out;
}

/// The measure of held-out queries, by models that have not seen them and by RRF.
Result<JsonObject> compared_with_rrf(const TrainingSet& set, const std::vector<HeldOutQuery>& queries,
                                     std::span<const Model> models, const std::vector<std::size_t>& fold_of,
                                     const CertaintyOptions& options) {
  TrainingRequest plain;
  plain.train = &set;
  TRY(const auto rrf, find_learner("reciprocal-ranks")->train(plain));
  double value = 0.0;
  double of_rrf = 0.0;
  std::vector<double> differences;
  for (const HeldOutQuery& query : queries) {
    const Model& model = models[fold_of[query.place]];
    const double own = query.measure.value(model.ranker->score(query.set.matrix));
    const double other = query.measure.value(rrf.model.ranker->score(query.set.matrix));
    value += own;
    of_rrf += other;
    differences.push_back(own - other);
  }
  const double count = static_cast<double>(queries.size());
  const double sign = queries.front().measure.is_cost ? -1.0 : 1.0;
  const auto interval = evaluation::bootstrap_interval(differences, options.seed);
  return JsonObject{{"measure", options.measure},
                    {"queries", queries.size()},
                    {"value", sign * value / count},
                    {"rrf", sign * of_rrf / count},
                    {"better_than_rrf", evaluation::bootstrap_share_above_zero(differences, options.seed)},
                    {"low", interval.low},
                    {"high", interval.high}};
}

}  // namespace

Result<JsonObject> certainty_of(const TrainingSet& set, const CertaintyOptions& options) {
  const std::vector<Feature>& features = set.matrix.features();
  if (count_lists(features) == 0)
    return fail(Code::bad_data, "certainty compares with RRF, which needs rank features, and there are none");
  TRY(const auto queries, measured_queries(set, options.measure));
  const std::vector<bool> all(set.queries.size(), true);
  const std::size_t bases = base_queries(set, all).size();
  if (count_answerable(set) < 2)
    return fail(Code::bad_data,
                "certainty needs two queries with a relevant document in a list; judge more queries");
  const std::size_t folds = std::min(options.folds, bases);
  TRY(const auto fold_of, folds_of_base_queries(set, all, folds, options.seed));
  TRY(const auto models, train_all(set, fold_of, folds, options));
  TRY(auto out, compared_with_rrf(set, queries, models, fold_of, options));
  out["bags"] = options.bags;
  out["lists"] = lists_json(features, std::span(models).subspan(folds));
  return out;
}

std::string certainty_text(const JsonObject& training) {
  const JsonMembers record = JsonMembers(training).inner("certainty");
  if (!record.is_object()) return {};
  const auto text_of = [](const JsonMembers& object, std::string_view key) {
    const auto* value = object.text(key);
    return value == nullptr ? std::string("?") : std::string(*value);
  };
  std::string text = fmt::format(
      "certainty: {} {:.4f} on {:.0f} queries that were held out, RRF {:.4f}; better than RRF with {:.1f} % "
      "(difference {:+.4f} to {:+.4f})\n",
      text_of(record, "measure"), record.number_or("value"), record.number_or("queries"),
      record.number_or("rrf"), 100.0 * record.number_or("better_than_rrf"), record.number_or("low"),
      record.number_or("high"));
  const JsonArray* lists = record.array("lists");
  if (lists == nullptr) return text;
  text += fmt::format("share of each list in the weight, over {:.0f} samples of the queries\n",
                      record.number_or("bags"));
  for (const Json& item : *lists) {
    const JsonMembers list(item);
    if (!list.is_object()) continue;
    text += fmt::format("  {}: {:.3f} ({:.3f} to {:.3f}), above 0 in {:.0f} %\n", text_of(list, "name"),
                        list.number_or("share"), list.number_or("low"), list.number_or("high"),
                        100.0 * list.number_or("positive"));
  }
  return text;
}

}  // namespace metafuse::fusion
