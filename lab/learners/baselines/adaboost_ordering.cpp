#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/common/rounds.h"
#include "lab/learners/baselines/baselines.h"
#include "lab/learners/common/training.h"

namespace metafuse::lab::baselines {
namespace {

constexpr double kNoGain = 1e-9;

struct OrderingOptions {
  std::size_t rounds = 100;
  ThresholdOptions thresholds;
};

void declare_options(OptionTable& table, OrderingOptions& options) {
  table.count("rounds", options.rounds, 0, 100'000, "rounds of boosting");
  table.count_or_all("max-thresholds", options.thresholds.max_thresholds, 1, 1'000'000'000,
                     "candidate thresholds per feature, including minus infinity");
}

/// A thresholded feature as AdaBoost's classifier.
struct Classifier {
  std::size_t feature = 0;
  std::size_t level = 0;
  double q_default = 0.0;
  double r = 0.0;  ///< sum of D(x) y(x) (2 h(x) - 1)
};

/// The weak ranking with the largest |r|.
Classifier best_of(const CodedFeatures& features, const std::vector<double>& signed_weights, double total) {
  Classifier best;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    const std::size_t levels = features.thresholds(f).size();
    std::vector<double> sums(levels + 1, 0.0);
    for (std::size_t x = 0; x < signed_weights.size(); ++x) sums[features.code(x, f)] += signed_weights[x];
    double firing = 0.0;
    for (std::size_t level = levels; level-- > 0;) {
      firing += sums[level + 1];
      for (const double q_default : {0.0, 1.0}) {
        const double r = 2.0 * (firing + q_default * sums[0]) - total;
        if (std::abs(r) > std::abs(best.r) + 1e-12) best = {f, level, q_default, r};
      }
    }
  }
  return best;
}

}  // namespace

std::vector<WeakRanking> adaboost_ordering(const TrainingSet& set, double level, std::size_t rounds,
                                           const ThresholdOptions& thresholds) {
  const CodedFeatures features(set.matrix, thresholds);
  const std::vector<std::size_t> documents = judged_documents(set);
  const auto count = static_cast<double>(documents.size());
  std::vector<double> labels(set.grades.size(), -1.0);
  std::vector<double> weights(set.grades.size(), 0.0);  // 0 outside the feedback
  double positive = 0.0;
  for (const std::size_t x : documents) {
    weights[x] = 1.0 / count;
    if (set.grades[x] < level) continue;
    labels[x] = 1.0;
    positive += 1.0;
  }
  std::vector<WeakRanking> rankings;
  if (positive == 0.0 || positive == count) return rankings;
  while (rankings.size() < rounds) {
    std::vector<double> signed_weights(labels.size());
    double total = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) total += signed_weights[x] = weights[x] * labels[x];
    const Classifier best = best_of(features, signed_weights, total);
    if (std::abs(best.r) < kNoGain) break;
    const double smooth = 0.5 / count;
    const double alpha = 0.5 * std::log((1.0 + best.r + smooth) / (1.0 - best.r + smooth));
    const FeatureKind kind = set.matrix.features()[best.feature].kind;
    rankings.push_back({static_cast<std::uint32_t>(best.feature),
                        step_threshold(features.thresholds(best.feature), best.level, kind), best.q_default,
                        2.0 * alpha});
    double sum = 0.0;
    for (std::size_t x = 0; x < labels.size(); ++x) {
      const std::uint32_t code = features.code(x, best.feature);
      const bool fires = code == 0 ? best.q_default > 0.0 : code > best.level;
      sum += weights[x] *= std::exp(-alpha * labels[x] * (fires ? 1.0 : -1.0));
    }
    for (double& weight : weights) weight /= sum;
  }
  return rankings;
}

namespace {

Result<TrainingResult> train_ordering(const TrainingRequest& request) {
  TRY(const auto options, read_options<OrderingOptions>(request.options));
  const TrainingSet& set = *request.train;
  TRY_VOID(refuse_pair_options(set, "adaboost-ordering"));
  auto rankings = adaboost_ordering(set, set.feedback.relevance_level, options.rounds, options.thresholds);
  if (rankings.empty() && options.rounds > 0)
    return fail(Code::bad_data,
                "adaboost-ordering needs relevant and other documents that differ in some feature; check the "
                "judgments and --relevance-level");
  JsonObject training{{"options", options_json(options)}, {"queries", set.queries.size()}};
  std::string summary =
      fmt::format("{} rounds over {} documents, relevant from grade {} on\n", rankings.size(),
                  judged_documents(set).size(), set.feedback.relevance_level);
  return step_result("adaboost-ordering", request, std::move(rankings), std::move(training),
                     std::move(summary), [](std::size_t, JsonObject&) {});
}

}  // namespace

Learner adaboost_ordering_learner() {
  return {.name = "adaboost-ordering",
          .meaning = "documents by AdaBoost's classification weight, relevant against the rest",
          .source = "Freund, Schapire 1997, as Freund, Iyer, Schapire, Singer 2003, sec. 7, propose",
          .options = option_rows<OrderingOptions>(),
          .train = train_ordering,
          .takes_query_weights = false};
}

}  // namespace metafuse::lab::baselines
