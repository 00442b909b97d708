#include "fusion/learners/adaboost_mh/boost.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

/// 1/2 ln((1 + edge)/(1 - edge)); finite for a perfect base classifier.
double alpha_of(double edge, std::size_t entries) {
  if (edge < 1.0 - 1e-12) return 0.5 * std::log((1.0 + edge) / (1.0 - edge));
  const double smoothing = 1.0 / static_cast<double>(entries);
  return 0.5 * std::log((1.0 + edge + smoothing) / (std::max(0.0, 1.0 - edge) + smoothing));
}

/// Multiplies weights by exp(-alpha h z), returns the sum before normalising to 1.
double reweight(SignedWeights& weights, const FittedBase& fitted, double alpha) {
  const double right = std::exp(-alpha);
  const double wrong = std::exp(alpha);
  double sum = 0.0;
  const std::size_t documents = weights.document_count();
  for (std::size_t d = 0; d < documents; ++d)
    for (std::size_t l = 0; l < weights.classes; ++l) {
      double& weight = weights.values[d * weights.stride + l];
      weight *= weight * fitted.outputs[d * weights.classes + l] > 0.0 ? right : wrong;
      sum += std::abs(weight);
    }
  for (double& weight : weights.values) weight /= sum;
  return sum;
}

bool is_left_out(const Problem& problem, std::size_t document) {
  return !problem.left_out.empty() && problem.left_out[document] != 0;
}

double hamming_loss(const Problem& problem, const std::vector<double>& votes) {
  std::size_t wrong = 0;
  std::size_t counted = 0;
  const std::size_t k = problem.class_count;
  for (std::size_t d = 0; d < problem.classes.size(); ++d) {
    if (is_left_out(problem, d)) continue;
    counted += k;
    for (std::size_t l = 0; l < k; ++l) {
      const bool is_own = problem.classes[d] == static_cast<int>(l);
      wrong += (votes[d * k + l] > 0.0) != is_own ? 1 : 0;
    }
  }
  return static_cast<double>(wrong) / static_cast<double>(counted);
}

}  // namespace

std::string BaseSetting::name() const {
  if (kind == BaseKind::tree) return "tree " + std::to_string(size);
  return size == 1 ? "stump" : "product " + std::to_string(size);
}

SignedWeights initial_weights(const Problem& problem) {
  require(problem.class_count >= 2 && problem.class_count <= 60, "AdaBoost.MH takes 2 to 60 classes");
  const std::size_t k = problem.class_count;
  SignedWeights weights{k, (k + 3) / 4 * 4, {}};
  weights.values.assign(problem.classes.size() * weights.stride, 0.0);
  double sum = 0.0;
  for (std::size_t d = 0; d < problem.classes.size(); ++d)
    if (!is_left_out(problem, d)) sum += 2.0 * std::ldexp(1.0, problem.classes[d]);
  for (std::size_t d = 0; d < problem.classes.size(); ++d) {
    if (is_left_out(problem, d)) continue;
    const double own = std::ldexp(1.0, problem.classes[d]) / sum;
    for (std::size_t l = 0; l < k; ++l)
      weights.values[d * weights.stride + l] =
          problem.classes[d] == static_cast<int>(l) ? own : -own / static_cast<double>(k - 1);
  }
  return weights;
}

namespace {

/// What a finished base classifier says of the training documents.
FittedBase replayed(const BaseClassifier& base, const CodedRows& rows, const SignedWeights& weights) {
  FittedBase fitted{base, {}, 0.0};
  for (std::size_t d = 0; d < rows.document_count(); ++d) {
    const std::uint8_t* row = rows.row(d);
    const bool is_negative = base.sign(row) < 0.0;
    const std::int8_t* votes = base.votes.data() + base.leaf(row) * weights.classes;
    for (std::size_t l = 0; l < weights.classes; ++l) {
      fitted.outputs.push_back(static_cast<std::int8_t>(is_negative ? -votes[l] : votes[l]));
      fitted.edge += weights.of(d)[l] * fitted.outputs.back();
    }
  }
  return fitted;
}

/// A boosting run between two rounds.
struct Progress {
  BoostRun run;
  SignedWeights weights;
  std::vector<double> votes;

  void take(const Problem& problem, FittedBase fitted, double alpha) {
    for (std::size_t i = 0; i < votes.size(); ++i) votes[i] += alpha * fitted.outputs[i];
    const double z = reweight(weights, fitted, alpha);
    run.rounds.push_back({fitted.edge, alpha, z, hamming_loss(problem, votes)});
    run.classifier.rounds.push_back({alpha, std::move(fitted.base)});
  }
};

}  // namespace

BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<bool(std::size_t)>& after_round, const BoostStart& start) {
  Progress progress;
  progress.run.classifier.classes = problem.class_count;
  progress.run.stop_reason = "all rounds done";
  progress.weights = initial_weights(problem);
  const std::size_t entries = problem.classes.size() * problem.class_count;
  progress.votes.assign(entries, 0.0);
  if (start.classifier != nullptr)
    for (std::size_t t = 0; t < std::min(rounds, start.classifier->rounds.size()); ++t) {
      const auto& [alpha, base] = start.classifier->rounds[t];
      progress.take(problem, replayed(base, *start.rows, progress.weights), alpha);
    }
  for (std::size_t t = progress.run.rounds.size(); t < rounds; ++t) {
    FittedBase fitted = setting.kind == BaseKind::tree
                            ? fit_tree(*problem.features, progress.weights, setting.size, problem.threads)
                            : fit_product(*problem.features, progress.weights, setting.size, problem.threads);
    if (fitted.edge <= 1e-12) {
      progress.run.stop_reason = "no base classifier is better than chance";
      break;
    }
    const bool is_perfect = fitted.edge >= 1.0 - 1e-12;
    const double alpha = alpha_of(fitted.edge, entries);
    progress.take(problem, std::move(fitted), alpha);
    if (is_perfect) {
      progress.run.stop_reason = "a base classifier is right everywhere";
      break;
    }
    if (after_round && !after_round(t + 1)) break;
  }
  return std::move(progress.run);
}

}  // namespace metafuse::fusion::adaboost_mh
