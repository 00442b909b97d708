#include "fusion/model/votes/regression.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/contract.h"
#include "core/portable_math.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::votes {

namespace {

/// The sum of all monomials times their weights. Requires one weight per monomial.
/// cost: O(monomials)
double polynomial_gain(const Regression& model, std::span<const double> votes) {
  struct Item {
    double value;
    std::size_t last;
  };
  std::vector<Item> items;
  items.reserve(model.weights.size());
  items.push_back({1.0, 0});
  double sum = model.weights[0];
  std::size_t begin = 0;
  for (int i = 0; i < model.setting.degree; ++i) {
    const std::size_t end = items.size();
    for (std::size_t m = begin; m < end; ++m)
      for (std::size_t variable = items[m].last; variable < votes.size(); ++variable) {
        const double value = items[m].value * votes[variable];
        sum += model.weights[items.size()] * value;
        items.push_back({value, variable});
      }
    begin = end;
  }
  return sum;
}

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

struct KindOfRegression {
  std::string_view name;
  double (*gain)(const Regression&, std::span<const double> votes);
};

/// In the order of RegressionKind.
constexpr KindOfRegression kKinds[] = {{"polynomial", polynomial_gain},
                                       {"logistic", logistic_gain},
                                       {"neural network", network_gain},
                                       {"gaussian process", process_gain}};

/// The number of monomials(inputs, degree), which is the binomial of inputs + degree over degree.
std::size_t monomial_count(std::size_t inputs, int degree) {
  std::size_t count = 1;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(degree); ++i) count = count * (inputs + i) / i;
  return count;
}

/// The count of a file's polynomial stays below 2^64: it has at most 1000 inputs and degree 5.
std::size_t weights_needed(const Regression& model) {
  switch (model.setting.kind) {
    case RegressionKind::polynomial:
      return monomial_count(model.width, model.setting.degree);
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

std::vector<std::vector<std::size_t>> monomials(std::size_t inputs, int degree) {
  std::vector<std::vector<std::size_t>> all = {{}};
  std::size_t begin = 0;
  for (int i = 0; i < degree; ++i) {
    const std::size_t end = all.size();
    for (std::size_t m = begin; m < end; ++m)
      for (std::size_t variable = all[m].empty() ? 0 : all[m].back(); variable < inputs; ++variable) {
        auto longer = all[m];
        longer.push_back(variable);
        all.push_back(std::move(longer));
      }
    begin = end;
  }
  return all;
}

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
  return std::string(kKinds[static_cast<std::size_t>(kind)].name);
}

double Regression::raw(std::span<const double> votes) const {
  require(votes.size() == width, "a regression takes as many votes as it was fitted to");
  return kKinds[static_cast<std::size_t>(setting.kind)].gain(*this, votes);
}

double Regression::scaled(std::span<const double> votes) const {
  const double share = high > low ? (raw(votes) - low) / (high - low) : 0.5;
  constexpr double kMargin = 0.1;
  if (share > 1.0) return 1.0 + kMargin * (share - 1.0) / share;
  if (share < 0.0) return kMargin * share / (1.0 - share);
  return share;
}

JsonObject to_json(const Regression& regression) {
  return JsonObject{{"kind", kKinds[static_cast<std::size_t>(regression.setting.kind)].name},
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
  model.weights = fields.weights("weights");
  model.points = fields.weights("points");
  model.length = fields.weight("length");
  model.offset = fields.weight("offset");
  model.low = fields.weight("low");
  model.high = fields.weight("high");
  if (fields.failed()) return fields.error();
  const auto known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const KindOfRegression& each) { return each.name == kind; });
  if (known == std::end(kKinds))
    return fail(Code::bad_data, "body.members.kind: \"" + kind + "\" is not a known regression");
  model.setting.kind = static_cast<RegressionKind>(known - std::begin(kKinds));
  if (is_too_short(model.length) || is_too_short(model.high - model.low))
    return fail(Code::bad_data, "body.members: \"length\" or the range from \"low\" to \"high\" is almost 0");
  if (model.width == 0 || model.setting.degree < 1 || model.weights.empty() || !(model.length > 0.0) ||
      model.weights.size() != weights_needed(model))
    return fail(Code::bad_data, "body.members.weights: do not fit the regression's kind");
  return model;
}

}  // namespace metafuse::fusion::votes
