#include "fusion/learners/adaboost_mh/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <nlopt.h>

#include "evaluation/measures/discounted_gain.h"
#include "fusion/learners/common/state_fields.h"

namespace metafuse::fusion::adaboost_mh {

namespace {

constexpr double kEntropyPower = 2.0;  // C
constexpr double kSmoothing = 0.01;    // sigma
constexpr double kTiny = 1e-300;

/// log(1 + exp(x)) without overflow.
double softplus(double x) {
  return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double document_value(SigmoidTarget target, std::span<const double> posterior, int own) {
  const auto place = static_cast<std::size_t>(own);
  const double log_loss = -std::log(std::max(posterior[place], kTiny));
  double sum = 0.0;
  switch (target) {
    case SigmoidTarget::log_sigmoid:
      return log_loss;
    case SigmoidTarget::entropy_weighted:
      for (const double p : posterior) sum -= p > 0.0 ? p * std::log(p) : 0.0;
      return log_loss * std::pow(sum, kEntropyPower);
    case SigmoidTarget::expected_loss:
      for (std::size_t l = 0; l < posterior.size(); ++l) {
        const double distance = static_cast<double>(l) - own;
        sum += posterior[l] * distance * distance;
      }
      return sum;
    case SigmoidTarget::expected_label_loss:
      for (std::size_t l = 0; l < posterior.size(); ++l) sum += posterior[l] * static_cast<double>(l);
      return (sum - own) * (sum - own);
    case SigmoidTarget::smoothed_ndcg:
      break;
  }
  return 0.0;
}

/// Minus the smoothed DCG of one query: documents by score, each position's gain a soft mixture.
double query_value(std::span<const double> scores, std::span<const double> gains) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  double value = 0.0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    const double centre = scores[order[position]];
    double sum = 0.0;
    double gain = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double distance = scores[i] - centre;
      const double exponent = distance * distance / kSmoothing;
      if (exponent > 40.0) continue;  // below 1e-17 of the document's own share
      const double share = std::exp(-exponent);
      sum += share;
      gain += share * gains[i];
    }
    value -= gain / sum / evaluation::log_discount(position + 1);
  }
  return value;
}

double smoothed_value(const Sigmoid& sigmoid, const CalibrationData& data) {
  std::vector<double> posterior(data.gains.size());
  double value = 0.0;
  for (const RowRange& query : data.queries) {
    std::vector<double> scores;
    std::vector<double> gains;
    for (std::size_t d = query.begin; d < query.end; ++d) {
      sigmoid_posterior(sigmoid, {data.row(d), data.width}, posterior);
      scores.push_back(bayes_score(posterior, data.gains));
      gains.push_back(data.gains[static_cast<std::size_t>(data.classes[d])]);
    }
    value += query_value(scores, gains);
  }
  return value;
}

struct Objective {
  SigmoidTarget target;
  const CalibrationData* data;
};

double evaluate_at(unsigned, const double* at, double*, void* context) {
  const auto* objective = static_cast<const Objective*>(context);
  const double value = target_value(objective->target, {std::exp(at[0]), at[1]}, *objective->data);
  return std::isfinite(value) ? value : 1e300;
}

}  // namespace

std::string_view name_of(SigmoidTarget target) {
  switch (target) {
    case SigmoidTarget::log_sigmoid:
      return "LS";
    case SigmoidTarget::entropy_weighted:
      return "EWLS";
    case SigmoidTarget::expected_loss:
      return "EL";
    case SigmoidTarget::expected_label_loss:
      return "ELL";
    case SigmoidTarget::smoothed_ndcg:
      return "SN";
  }
  return "";
}

void sigmoid_posterior(const Sigmoid& sigmoid, std::span<const double> votes, std::span<double> posterior) {
  // In logarithms, so that the ratio is defined even if every sigmoid underflows to zero.
  double most = -INFINITY;
  for (std::size_t l = 0; l < votes.size(); ++l) {
    posterior[l] = -softplus(-sigmoid.a * (votes[l] - sigmoid.b));
    most = std::max(most, posterior[l]);
  }
  double sum = 0.0;
  for (double& p : posterior) sum += p = std::exp(p - most);
  for (double& p : posterior) p /= sum;
}

void standard_posterior(std::span<const double> votes, std::span<double> posterior) {
  double sum = 0.0;
  for (std::size_t l = 0; l < votes.size(); ++l) sum += posterior[l] = std::max(0.0, 0.5 * (1.0 + votes[l]));
  for (double& p : posterior) p = sum > 0.0 ? p / sum : 1.0 / static_cast<double>(posterior.size());
}

double bayes_score(std::span<const double> posterior, std::span<const double> gains) {
  double score = 0.0;
  for (std::size_t l = 0; l < posterior.size(); ++l) score += gains[l] * posterior[l];
  return score;
}

double target_value(SigmoidTarget target, const Sigmoid& sigmoid, const CalibrationData& data) {
  if (target == SigmoidTarget::smoothed_ndcg) return smoothed_value(sigmoid, data);
  std::vector<double> posterior(data.gains.size());
  double value = 0.0;
  for (std::size_t d = 0; d < data.size(); ++d) {
    sigmoid_posterior(sigmoid, {data.row(d), data.width}, posterior);
    value += document_value(target, posterior, data.classes[d]);
  }
  return value;
}

std::optional<Sigmoid> fit_sigmoid(SigmoidTarget target, const CalibrationData& data) {
  if (data.size() == 0 || are_votes_constant(data)) return std::nullopt;
  Objective objective{target, &data};
  double at[2] = {0.0, 0.0};
  double least = INFINITY;
  for (const double a : {1.0, 4.0, 16.0, 64.0})
    for (const double b : {-0.5, 0.0, 0.5}) {
      const double start[2] = {std::log(a), b};
      const double value = evaluate_at(2, start, nullptr, &objective);
      if (value >= least) continue;
      least = value;
      std::copy_n(start, 2, at);
    }
  const double lower[2] = {std::log(0.01), -3.0};
  const double upper[2] = {std::log(1000.0), 3.0};
  const std::unique_ptr<nlopt_opt_s, void (*)(nlopt_opt)> optimiser(nlopt_create(NLOPT_LN_SBPLX, 2),
                                                                    nlopt_destroy);
  nlopt_set_min_objective(optimiser.get(), evaluate_at, &objective);
  nlopt_set_lower_bounds(optimiser.get(), lower);
  nlopt_set_upper_bounds(optimiser.get(), upper);
  nlopt_set_initial_step1(optimiser.get(), 0.5);
  nlopt_set_xtol_abs1(optimiser.get(), 1e-5);
  nlopt_set_maxeval(optimiser.get(), target == SigmoidTarget::smoothed_ndcg ? 60 : 140);
  double best[2] = {at[0], at[1]};
  double value = least;
  nlopt_optimize(optimiser.get(), best, &value);
  if (value <= least) std::copy_n(best, 2, at);
  return Sigmoid{std::exp(at[0]), at[1]};
}

namespace {

double mean_gain(const CalibrationData& data) {
  const auto shares = class_shares(data);
  const double most = *std::max_element(data.gains.begin(), data.gains.end());
  return most > 0.0 ? bayes_score(shares, data.gains) / most : 0.0;
}

}  // namespace

double Calibration::score(std::span<const double> votes, std::span<const double> gains,
                          std::span<double> buffer) const {
  if (regression) return regression->scaled(votes);
  if (!sigmoid) return constant;
  sigmoid_posterior(*sigmoid, votes, buffer);
  const double most = *std::max_element(gains.begin(), gains.end());
  return most > 0.0 ? bayes_score(buffer, gains) / most : 0.0;
}

std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options) {
  std::vector<Calibration> fitted;
  // A single score holds no vote per class, so only regressions can use it.
  if (options.has_sigmoids && data.width == data.gains.size())
    for (const SigmoidTarget target : kSigmoidTargets)
      fitted.push_back(
          {std::string(name_of(target)), fit_sigmoid(target, data), std::nullopt, mean_gain(data)});
  if (options.has_regressions || data.width != data.gains.size())
    for (const RegressionSetting& setting : all_regressions()) {
      auto regression = fit_regression(setting, data, options.regression);
      Calibration calibration{setting.name(), std::nullopt, std::nullopt, mean_gain(data)};
      if (regression) calibration.regression = std::move(*regression);
      fitted.push_back(std::move(calibration));
    }
  return fitted;
}

JsonObject to_json(const Calibration& calibration) {
  JsonObject object{{"calibration", calibration.name}, {"constant", calibration.constant}};
  if (calibration.sigmoid) object["sigmoid"] = JsonArray{calibration.sigmoid->a, calibration.sigmoid->b};
  if (calibration.regression) object["regression"] = to_json(*calibration.regression);
  return object;
}

Result<Calibration> read_calibration(const JsonObject& object) {
  StateFields fields(object, "body.members.");
  Calibration calibration;
  calibration.name = fields.text("calibration");
  calibration.constant = fields.number("constant");
  if (object.contains("sigmoid")) {
    const auto numbers = fields.numbers("sigmoid");
    if (!fields.failed() && numbers.size() != 2)
      return fail(Code::bad_data, "body.members.sigmoid: must be two numbers");
    if (!fields.failed()) calibration.sigmoid = Sigmoid{numbers[0], numbers[1]};
  }
  if (object.contains("regression")) {
    const JsonObject* inner = fields.object("regression");
    if (fields.failed()) return fields.error();
    TRY(calibration.regression, read_regression(*inner));
  }
  if (fields.failed()) return fields.error();
  return calibration;
}

}  // namespace metafuse::fusion::adaboost_mh
