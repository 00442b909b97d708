#include "fusion/learners/adaboost_mh/regression.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/portable_math.h"
#include "fusion/learners/common/state_fields.h"

namespace metafuse::fusion::adaboost_mh {

namespace {

constexpr const char* kKindNames[] = {"polynomial", "logistic", "neural network", "gaussian process"};

double logistic_gain(const Regression& model, std::span<const double> votes) {
  const std::size_t k = model.points.size();
  const std::size_t stride = model.width + 1;
  std::vector<double> scores(k);
  double most = -INFINITY;
  for (std::size_t l = 0; l < k; ++l) {
    const double* weights = &model.weights[l * stride];
    scores[l] = weights[model.width];
    for (std::size_t i = 0; i < model.width; ++i) scores[l] += weights[i] * votes[i];
    most = std::max(most, scores[l]);
  }
  double sum = 0.0;
  double gain = 0.0;
  for (std::size_t l = 0; l < k; ++l) {
    const double share = portable_exp(scores[l] - most);
    sum += share;
    gain += share * model.points[l];
  }
  return gain / sum;
}

double network_gain(const Regression& model, std::span<const double> votes) {
  const std::size_t stride = model.width + 1;
  const std::size_t hidden = (model.weights.size() - 1) / (stride + 1);
  std::vector<double> units(hidden);
  for (std::size_t h = 0; h < hidden; ++h) {
    const double* weights = &model.weights[h * stride];
    units[h] = weights[model.width];
    for (std::size_t i = 0; i < model.width; ++i) units[h] += weights[i] * votes[i];
  }
  make_tangents(units);
  double gain = model.weights.back();
  for (std::size_t h = 0; h < hidden; ++h) gain += model.weights[hidden * stride + h] * units[h];
  return gain;
}

double process_gain(const Regression& model, std::span<const double> votes) {
  const double factor = -0.5 / (model.length * model.length);
  std::vector<double> kernel(model.weights.size());
  for (std::size_t p = 0; p < kernel.size(); ++p) {
    const double* point = &model.points[p * model.width];
    double square = 0.0;
    for (std::size_t i = 0; i < model.width; ++i) square += (votes[i] - point[i]) * (votes[i] - point[i]);
    kernel[p] = factor * square;
  }
  portable_exp(kernel);
  double gain = model.offset;
  for (std::size_t p = 0; p < kernel.size(); ++p) gain += model.weights[p] * kernel[p];
  return gain;
}

std::size_t weights_needed(const Regression& model) {
  switch (model.setting.kind) {
    case RegressionKind::polynomial:
      return monomials(model.width, model.setting.degree).size();
    case RegressionKind::logistic:
      return model.points.size() * (model.width + 1);
    case RegressionKind::neural_network:
      return (model.weights.size() - 1) / (model.width + 2) * (model.width + 2) + 1;
    case RegressionKind::gaussian_process:
      return model.width == 0 ? 0 : model.points.size() / model.width;
  }
  return 0;
}

}  // namespace

void make_tangents(std::span<double> numbers) {
  // tanh x = (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x.
  std::vector<double> powers(numbers.size());
  for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = -2.0 * std::abs(numbers[i]);
  portable_exp(powers);
  for (std::size_t i = 0; i < powers.size(); ++i)
    numbers[i] = std::copysign((1.0 - powers[i]) / (1.0 + powers[i]), numbers[i]);
}

std::string RegressionSetting::name() const {
  if (kind == RegressionKind::polynomial)
    return degree == 1 ? "linear" : "polynomial " + std::to_string(degree);
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::vector<RegressionSetting> all_regressions() {
  std::vector<RegressionSetting> settings = {{RegressionKind::gaussian_process, 1},
                                             {RegressionKind::logistic, 1},
                                             {RegressionKind::polynomial, 1},
                                             {RegressionKind::neural_network, 1}};
  for (int degree = 2; degree <= 5; ++degree) settings.push_back({RegressionKind::polynomial, degree});
  return settings;
}

double Regression::raw(std::span<const double> votes) const {
  require(votes.size() == width, "a regression takes as many votes as it was fitted to");
  switch (setting.kind) {
    case RegressionKind::polynomial:
      return polynomial_value(votes, setting.degree, weights);
    case RegressionKind::logistic:
      return logistic_gain(*this, votes);
    case RegressionKind::neural_network:
      return network_gain(*this, votes);
    case RegressionKind::gaussian_process:
      return process_gain(*this, votes);
  }
  return 0.0;
}

double Regression::scaled(std::span<const double> votes) const {
  const double share = high > low ? (raw(votes) - low) / (high - low) : 0.5;
  constexpr double kMargin = 0.1;
  if (share > 1.0) return 1.0 + kMargin * (share - 1.0) / share;
  if (share < 0.0) return kMargin * share / (1.0 - share);
  return share;
}

JsonObject to_json(const Regression& regression) {
  return JsonObject{{"kind", kKindNames[static_cast<std::size_t>(regression.setting.kind)]},
                    {"degree", regression.setting.degree},
                    {"width", regression.width},
                    {"weights", to_array(regression.weights)},
                    {"points", to_array(regression.points)},
                    {"length", regression.length},
                    {"offset", regression.offset},
                    {"low", regression.low},
                    {"high", regression.high}};
}

Result<Regression> read_regression(const JsonObject& object) {
  StateFields fields(object, "body.members.");
  Regression model;
  const std::string kind = fields.text("kind");
  model.setting.degree = static_cast<int>(fields.count("degree", 5));
  model.width = fields.count("width", 1000);
  model.weights = fields.numbers("weights");
  model.points = fields.numbers("points");
  model.length = fields.number("length");
  model.offset = fields.number("offset");
  model.low = fields.number("low");
  model.high = fields.number("high");
  if (fields.failed()) return fields.error();
  const auto known = std::find(std::begin(kKindNames), std::end(kKindNames), kind);
  if (known == std::end(kKindNames))
    return fail(Code::bad_data, "body.members.kind: \"" + kind + "\" is not a known regression");
  model.setting.kind = static_cast<RegressionKind>(known - std::begin(kKindNames));
  if (model.width == 0 || model.setting.degree < 1 || model.weights.empty() || !(model.length > 0.0) ||
      model.weights.size() != weights_needed(model))
    return fail(Code::bad_data, "body.members.weights: do not fit the regression's kind");
  return model;
}

}  // namespace metafuse::fusion::adaboost_mh
