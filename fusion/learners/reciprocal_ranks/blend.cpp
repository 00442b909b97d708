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
#include "fusion/model/sum_ranker.h"

// Blends three rankings that err in different places, each scaled to a standard deviation of 1 within
// queries. The sum of RankBoost of thresholds and RankBoost of values is what was learned. The third
// ranking is RankBoost that starts from reciprocal rank fusion, or from what other domains have learned, and
// keeps close to its order while there are few crucial pairs. With n judged queries, what was learned has
// the weight n^2 / (n^2 + q^2) and the third ranking the rest. So a few queries change the fusion's order
// little, and with many queries nothing of it remains.
namespace metafuse::fusion::reciprocal_ranks {
namespace {

// Other domains' models are worth this many times as many judged queries as RRF (docs/learners/auto.md).
constexpr double kWorthOfDomains = 3.0;
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

/// The request of a part's training.
TrainingRequest request_of_part(const TrainingRequest& request, bool may_start_from,
                                std::map<std::string, std::string> options) {
  TrainingRequest inner;
  inner.train = request.train;
  inner.prior = may_start_from ? request.prior : nullptr;
  inner.options = std::move(options);
  inner.seed = request.seed;
  inner.threads = request.threads;
  inner.trace.is_wanted = false;
  inner.limit.clock = request.limit.clock;
  inner.limit.seconds = request.limit.seconds * kTimeShareOfPart;
  return inner;
}

/// What RankBoost learns with these options.
Result<SumRanker> boosted_part(const TrainingRequest& request, std::map<std::string, std::string> options) {
  const Learner learner = rankboost::learner();
  TRY(const auto trained,
      learner.train(request_of_part(request, learner.can.start_from, std::move(options))));
  return *trained.model.ranker->sum();
}

/// The factor that scales scores to a standard deviation of 1 within queries; 0 if all are equal.
double factor_of(const TrainingSet& set, const std::vector<double>& scores) {
  const double squares = squares_within_queries(set, scores);
  return squares > 0.0 ? std::sqrt(static_cast<double>(scores.size()) / squares) : 0.0;
}

/// Trains the fusion to fall back on. If no feature is a list, there is none, and it contributes nothing.
Result<FusedPart> fused_part(const TrainingRequest& request, const BlendOptions& options) {
  const std::size_t features = request.train->matrix.feature_count();
  if (count_lists(request.train->matrix.features()) == 0)
    return FusedPart{options.k, std::vector<double>(features, 0.0), {}};
  TRY(auto trained, train_fused(request_of_part(request, true,
                                                {{"rounds", std::to_string(options.fused_rounds)},
                                                 {"k", fmt::format("{}", options.k)}})));
  return std::move(trained.fused);
}

template <class Ranking>
std::vector<Ranking> scaled(std::vector<Ranking> rankings, double factor) {
  for (Ranking& ranking : rankings) ranking.alpha *= factor;
  return rankings;
}

/// The factors that scale the two learned rankings, and then their sum.
struct LearnedFactors {
  double steps = 0.0;
  double values = 0.0;
  double sum = 0.0;
};

LearnedFactors factors_of(const TrainingSet& set, const SumRanker& steps, const SumRanker& values) {
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
  TRY(auto fused, fused_part(request, options));
  TRY(const auto steps, boosted_part(request, {{"rounds", std::to_string(options.rounds)}}));
  TRY(const auto values,
      boosted_part(request, {{"rounds", std::to_string(options.value_rounds)}, {"weak-ranking", "value"}}));
  const LearnedFactors factors = factors_of(set, steps, values);
  const double factor_of_fused = factor_of(set, fused_ranker(fused, features).score(set.matrix));
  const auto queries = static_cast<double>(feedback.query_count);
  const double worth_of_prior = request.prior != nullptr ? kWorthOfDomains : 1.0;
  const double prior = factor_of_fused > 0.0 ? options.prior_queries * worth_of_prior : 0.0;
  const double share = queries * queries / (queries * queries + prior * prior);
  const double factor_of_learned = factors.sum * share;
  scale(fused, factor_of_fused * (1.0 - share));
  SumParts parts{std::move(fused), scaled(*steps.parts().steps, factors.steps * factor_of_learned),
                 scaled(*values.parts().values, factors.values * factor_of_learned)};
  TrainingResult result;
  result.summary =
      fmt::format("a blend of RankBoost of thresholds, RankBoost of values and RankBoost from {}\n",
                  request.prior == nullptr ? "reciprocal rank fusion" : "what other domains learned");
  result.model.learner = "rankboost-blend";
  result.model.features = features;
  result.model.training["options"] = options_json(options);
  result.model.training["queries"] = set.queries.size();
  result.model.training["crucial_pairs"] = feedback.crucial_pairs;
  result.model.training["share_of_learned"] = share;
  if (request.prior != nullptr) result.model.training["prior"] = prior_record(*request.prior);
  result.model.ranker = std::make_shared<SumRanker>(std::move(parts), features);
  return result;
}

}  // namespace

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
