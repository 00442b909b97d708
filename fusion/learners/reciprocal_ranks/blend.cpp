#include <cmath>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "fusion/data/features.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/rankboost/feedback.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/model/prior.h"

// Blends three rankings that err in different places, each scaled to a standard deviation of 1 within
// queries. The sum of RankBoost of thresholds and RankBoost of values is what was learned. The third
// ranking is RankBoost that starts from reciprocal rank fusion, or from what other domains have learned, and
// keeps close to its order while there are few crucial pairs. With n judged queries, what was learned has
// the weight n^2 / (n^2 + q^2) and the third ranking the rest. So a few queries change the fusion's order
// little, and with many queries nothing of it remains.
namespace metafuse::fusion::reciprocal_ranks {
namespace {

constexpr double kTimeShareOfPart = 1.0 / 3.0;  // share of the time limit

struct BlendOptions {
  std::size_t rounds = 100;
  std::size_t value_rounds = 50;
  std::size_t fused_rounds = 50;
  double prior_queries = 8.0;
  double k = kRrfConstant;
};

void declare_options(OptionTable& table, BlendOptions& options) {
  table.count("rounds", options.rounds, 1, 100'000, "rounds of RankBoost on thresholded features");
  table.count("value-rounds", options.value_rounds, 1, 100'000, "rounds of RankBoost on scaled features");
  table.count("fused-rounds", options.fused_rounds, 0, 100'000,
              "rounds of the RankBoost that starts from reciprocal rank fusion");
  table.number("prior-queries", options.prior_queries, 0.0, 1e12,
               "number of judged queries at which the ranking that starts from RRF and the learned ones "
               "weigh the same");
  table.number("k", options.k, 0.0, 1e6, "the constant k in 1 / (k + rank)");
}

Result<Model> train_part(const Learner& learner, const TrainingRequest& request,
                         std::map<std::string, std::string> options) {
  TrainingRequest inner;
  inner.train = request.train;
  inner.prior = learner.can.start_from ? request.prior : nullptr;
  inner.options = std::move(options);
  inner.seed = request.seed;
  inner.threads = request.threads;
  inner.trace.is_wanted = false;
  inner.limit.clock = request.limit.clock;
  inner.limit.seconds = request.limit.seconds * kTimeShareOfPart;
  TRY(auto trained, learner.train(inner));
  return std::move(trained.model);
}

/// The factor that scales scores to a standard deviation of 1 within queries; 0 if all are equal.
double factor_of(const TrainingSet& set, const std::vector<double>& scores) {
  const double squares = squares_within_queries(set, scores);
  return squares > 0.0 ? std::sqrt(static_cast<double>(scores.size()) / squares) : 0.0;
}

/// Trains the fusion to fall back on. If no feature is a list, there is none, and it contributes nothing.
Result<ReciprocalRanker> train_fused(const TrainingRequest& request, const BlendOptions& options) {
  const std::vector<Feature>& features = request.train->matrix.features();
  if (count_lists(features) == 0)
    return ReciprocalRanker(options.k, std::vector<double>(features.size(), 0.0), StepRanker({}, features));
  TRY(const Model model,
      train_part(learner(), request,
                 {{"rounds", std::to_string(options.fused_rounds)}, {"k", fmt::format("{}", options.k)}}));
  return dynamic_cast<const ReciprocalRanker&>(*model.ranker);
}

template <class Ranking>
std::vector<Ranking> scaled(std::vector<Ranking> rankings, double factor) {
  for (Ranking& ranking : rankings) ranking.alpha *= factor;
  return rankings;
}

ReciprocalRanker scaled(const ReciprocalRanker& fused, double factor, const std::vector<Feature>& features) {
  std::vector<double> weights = fused.weights();
  for (double& weight : weights) weight *= factor;
  return {fused.k(), std::move(weights), StepRanker(scaled(fused.steps().rankings(), factor), features)};
}

/// The factors that scale the two learned rankings, and then their sum.
struct LearnedFactors {
  double steps = 0.0;
  double values = 0.0;
  double sum = 0.0;
};

LearnedFactors factors_of(const TrainingSet& set, const Ranker& steps, const Ranker& values) {
  std::vector<double> learned = steps.score(set.matrix);
  const std::vector<double> by_values = values.score(set.matrix);
  LearnedFactors factors{factor_of(set, learned), factor_of(set, by_values), 0.0};
  for (std::size_t row = 0; row < learned.size(); ++row)
    learned[row] = learned[row] * factors.steps + by_values[row] * factors.values;
  factors.sum = factor_of(set, learned);
  return factors;
}

Result<TrainingResult> train_blend(const TrainingRequest& request) {
  const TrainingSet& set = *request.train;
  const std::vector<Feature>& features = set.matrix.features();
  TRY(const auto options, read_options<BlendOptions>(request.options));
  TRY(const auto feedback, rankboost::make_feedback(set));
  TRY(const auto fused, train_fused(request, options));
  TRY(const Model steps,
      train_part(rankboost::learner(), request, {{"rounds", std::to_string(options.rounds)}}));
  TRY(const Model values,
      train_part(rankboost::learner(), request,
                 {{"rounds", std::to_string(options.value_rounds)}, {"weak-ranking", "value"}}));
  const LearnedFactors factors = factors_of(set, *steps.ranker, *values.ranker);
  const double factor_of_fused = factor_of(set, fused.score(set.matrix));
  const auto queries = static_cast<double>(feedback.query_count);
  const double prior = factor_of_fused > 0.0 ? options.prior_queries : 0.0;
  const double share = queries * queries / (queries * queries + prior * prior);
  const double factor_of_learned = factors.sum * share;
  auto thresholded =
      scaled(dynamic_cast<const StepRanker&>(*steps.ranker).rankings(), factors.steps * factor_of_learned);
  auto lines = scaled(dynamic_cast<const rankboost::ValueRanker&>(*values.ranker).rankings(),
                      factors.values * factor_of_learned);
  TrainingResult result;
  result.summary =
      "a blend of RankBoost of thresholds, RankBoost of values and RankBoost from reciprocal rank fusion\n";
  result.model.learner = "rankboost-blend";
  result.model.features = features;
  result.model.training["options"] = options_json(options, '-');
  result.model.training["queries"] = set.queries.size();
  result.model.training["crucial_pairs"] = feedback.crucial_pairs;
  result.model.training["share_of_learned"] = share;
  if (request.prior != nullptr) result.model.training["prior"] = prior_record(*request.prior);
  result.model.ranker = std::make_shared<BlendRanker>(
      scaled(fused, factor_of_fused * (1.0 - share), features), StepRanker(std::move(thresholded), features),
      rankboost::ValueRanker(std::move(lines), features));
  return result;
}

Result<const JsonObject*> part_of(const JsonObject& body, std::string_view key) {
  const Json* part = body.if_contains(key);
  if (part == nullptr || !part->is_object())
    return fail(Code::bad_data, fmt::format("body.{}: must be an object; train the model again", key));
  return &part->get_object();
}

}  // namespace

Result<SharedRanker> read_blend(const JsonObject& body, const std::vector<Feature>& features) {
  TRY(const JsonObject* fused_body, part_of(body, "fused"));
  TRY(const JsonObject* steps_body, part_of(body, "steps"));
  TRY(const JsonObject* values_body, part_of(body, "values"));
  TRY(const auto fused, read_reciprocal(*fused_body, features));
  TRY(auto steps, read_weak_rankings(*steps_body, features));
  TRY(const auto values, rankboost::read_value_ranker(*values_body, features));
  return std::make_shared<BlendRanker>(dynamic_cast<const ReciprocalRanker&>(*fused),
                                       StepRanker(std::move(steps), features),
                                       dynamic_cast<const rankboost::ValueRanker&>(*values));
}

JsonObject BlendRanker::body() const {
  return {{"fused", fused_.body()}, {"steps", steps_.body()}, {"values", values_.body()}};
}

std::string BlendRanker::describe(const std::vector<Feature>& features) const {
  return fused_.describe(features) + "and on top\n" + steps_.describe(features) + "and on top\n" +
         values_.describe(features);
}

Learner blend_learner() {
  return {.name = "rankboost-blend",
          .meaning =
              "the mean of RankBoosts on thresholds and on values, and a RankBoost that starts from RRF, "
              "with a weight that shrinks as more queries are judged",
          .source =
              "Freund, Iyer, Schapire, Singer 2003, sec. 4; Cormack, Clarke, Buettcher 2009; the sum is ours",
          .options = option_rows<BlendOptions>(),
          .train = train_blend,
          .can = {.start_from = true, .limit_time = true}};
}

}  // namespace metafuse::fusion::reciprocal_ranks
