#include "fusion/learners/adaboost_mh/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <nlopt.h>

#include "core/portable_math.h"
#include "core/simd.h"
#include "evaluation/measures/discounted_gain.h"
#include "fusion/learners/common/state_fields.h"

namespace metafuse::fusion::adaboost_mh {

namespace {

constexpr double kSmoothing = 0.01;  // sigma
constexpr double kTiny = 1e-300;

/// The votes as one column per class, and room for the results of one evaluation of a target.
class VoteColumns {
 public:
  explicit VoteColumns(const CalibrationData& data)
      : data_(data), votes_(data.votes.size()), posteriors_(data.votes.size()), scratch_(data.size()) {
    for (std::size_t d = 0; d < size(); ++d)
      for (std::size_t l = 0; l < data.width; ++l) votes_[l * size() + d] = data.row(d)[l];
  }

  const CalibrationData& data() const { return data_; }
  std::size_t size() const { return data_.size(); }
  std::size_t classes() const { return data_.width; }
  const std::vector<double>& posteriors() const { return posteriors_; }
  double posterior(std::size_t document, std::size_t label) const {
    return posteriors_[label * size() + document];
  }
  std::size_t own_class(std::size_t document) const {
    return static_cast<std::size_t>(data_.classes[document]);
  }
  void set_posteriors(const Sigmoid& sigmoid) {
    sigmoid_posteriors(sigmoid, votes_, size(), posteriors_, scratch_);
  }

 private:
  const CalibrationData& data_;
  std::vector<double> votes_;
  std::vector<double> posteriors_;
  std::vector<double> scratch_;
};

/// log p for every document and class; a p of 0 is replaced by a tiny number.
std::vector<double> log_posteriors(const VoteColumns& columns) {
  std::vector<double> logs(columns.posteriors().size());
  for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = std::max(columns.posteriors()[i], kTiny);
  portable_log(logs);
  return logs;
}

double log_loss(const VoteColumns& columns) {
  std::vector<double> logs(columns.size());
  for (std::size_t d = 0; d < logs.size(); ++d)
    logs[d] = std::max(columns.posterior(d, columns.own_class(d)), kTiny);
  portable_log(logs);
  return -std::accumulate(logs.begin(), logs.end(), 0.0);
}

/// The sum of each document's logarithmic loss times its posterior's entropy to the power C = 2.
double entropy_weighted_loss(const VoteColumns& columns) {
  const std::vector<double> logs = log_posteriors(columns);
  const std::size_t size = columns.size();
  double value = 0.0;
  for (std::size_t d = 0; d < size; ++d) {
    double entropy = 0.0;
    for (std::size_t l = 0; l < columns.classes(); ++l)
      entropy -= columns.posterior(d, l) * logs[l * size + d];
    value -= logs[columns.own_class(d) * size + d] * entropy * entropy;
  }
  return value;
}

double expected_loss(const VoteColumns& columns) {
  double value = 0.0;
  for (std::size_t d = 0; d < columns.size(); ++d)
    for (std::size_t l = 0; l < columns.classes(); ++l) {
      const double distance = static_cast<double>(l) - static_cast<double>(columns.own_class(d));
      value += columns.posterior(d, l) * distance * distance;
    }
  return value;
}

double expected_label_loss(const VoteColumns& columns) {
  double value = 0.0;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    double label = 0.0;
    for (std::size_t l = 0; l < columns.classes(); ++l)
      label += columns.posterior(d, l) * static_cast<double>(l);
    const double error = label - static_cast<double>(columns.own_class(d));
    value += error * error;
  }
  return value;
}

struct Scored {
  double score;
  double gain;
};

/// Minus the smoothed DCG of one query: documents are ordered by score, and each position's gain is a
/// soft mixture.
double query_value(std::vector<Scored>& documents) {
  constexpr double kMostExponent = 40.0;  // beyond it, a share is below 1e-17 of the document's own
  std::stable_sort(documents.begin(), documents.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  const std::size_t count = documents.size();
  std::vector<double> sums(count, 1.0);
  std::vector<double> gains(count);
  for (std::size_t i = 0; i < count; ++i) gains[i] = documents[i].gain;
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i) {
    shares.clear();
    for (std::size_t j = i + 1; j < count; ++j) {
      const double distance = documents[i].score - documents[j].score;
      const double exponent = distance * distance / kSmoothing;
      if (exponent > kMostExponent) break;
      shares.push_back(-exponent);
    }
    portable_exp(shares);
    for (std::size_t j = i + 1; j <= i + shares.size(); ++j) {
      const double share = shares[j - i - 1];  // of each of the two documents in the other's position
      sums[i] += share;
      sums[j] += share;
      gains[i] += share * documents[j].gain;
      gains[j] += share * documents[i].gain;
    }
  }
  double value = 0.0;
  for (std::size_t i = 0; i < count; ++i) value -= gains[i] / sums[i] / evaluation::log_discount(i + 1);
  return value;
}

double smoothed_value(const VoteColumns& columns) {
  const std::vector<double>& gains = columns.data().gains;
  double value = 0.0;
  std::vector<Scored> documents;
  for (const RowRange& query : columns.data().queries) {
    documents.clear();
    for (std::size_t d = query.begin; d < query.end; ++d) {
      double score = 0.0;
      for (std::size_t l = 0; l < columns.classes(); ++l) score += gains[l] * columns.posterior(d, l);
      documents.push_back({score, gains[columns.own_class(d)]});
    }
    value += query_value(documents);
  }
  return value;
}

struct TargetFunction {
  std::string_view name;
  double (*value)(const VoteColumns&);
};

/// In the order of SigmoidTarget.
constexpr TargetFunction kTargetFunctions[] = {{"LS", log_loss},
                                               {"EWLS", entropy_weighted_loss},
                                               {"EL", expected_loss},
                                               {"ELL", expected_label_loss},
                                               {"SN", smoothed_value}};

const TargetFunction& function_of(SigmoidTarget target) {
  return kTargetFunctions[static_cast<std::size_t>(target)];
}

double value_at(SigmoidTarget target, const Sigmoid& sigmoid, VoteColumns& columns) {
  columns.set_posteriors(sigmoid);
  return function_of(target).value(columns);
}

struct Objective {
  SigmoidTarget target;
  VoteColumns* columns;
};

double evaluate_at(unsigned, const double* at, double*, void* context) {
  const auto* objective = static_cast<const Objective*>(context);
  const double value = value_at(objective->target, {portable_exp(at[0]), at[1]}, *objective->columns);
  return std::isfinite(value) ? value : 1e300;
}

}  // namespace

std::string_view name_of(SigmoidTarget target) {
  return function_of(target).name;
}

METAFUSE_CLONES void sigmoid_posteriors(const Sigmoid& sigmoid, std::span<const double> votes,
                                        std::size_t documents, std::span<double> posteriors,
                                        std::span<double> scratch) {
  const std::size_t classes = votes.size() / documents;
  // For x = a (vote - b) the sigmoid is 1 / (1 + e^-x). If the greatest x is negative, all sigmoids are
  // divided by e^greatest, so that their ratios are defined even if all of them underflow to zero.
  double* greatest = scratch.data();
  std::fill(greatest, greatest + documents, -INFINITY);
  for (std::size_t l = 0; l < classes; ++l)
    for (std::size_t d = 0; d < documents; ++d) {
      const double x = sigmoid.a * (votes[l * documents + d] - sigmoid.b);
      greatest[d] = x > greatest[d] ? x : greatest[d];
    }
  for (std::size_t d = 0; d < documents; ++d) greatest[d] = greatest[d] < 0.0 ? greatest[d] : 0.0;
  for (std::size_t l = 0; l < classes; ++l)
    for (std::size_t d = 0; d < documents; ++d) {
      const double x = sigmoid.a * (votes[l * documents + d] - sigmoid.b);
      posteriors[l * documents + d] = greatest[d] < 0.0 ? x - greatest[d] : -std::abs(x);
    }
  portable_exp(posteriors);
  portable_exp(scratch.first(documents));
  for (std::size_t l = 0; l < classes; ++l)
    for (std::size_t d = 0; d < documents; ++d) {
      double& p = posteriors[l * documents + d];
      const bool is_numerator = greatest[d] < 1.0 || votes[l * documents + d] < sigmoid.b;
      p = (is_numerator ? p : 1.0) / (1.0 + p * greatest[d]);
    }
  double* sums = scratch.data();
  std::fill(sums, sums + documents, 0.0);
  for (std::size_t l = 0; l < classes; ++l)
    for (std::size_t d = 0; d < documents; ++d) sums[d] += posteriors[l * documents + d];
  for (std::size_t l = 0; l < classes; ++l)
    for (std::size_t d = 0; d < documents; ++d) posteriors[l * documents + d] /= sums[d];
}

void sigmoid_posterior(const Sigmoid& sigmoid, std::span<const double> votes, std::span<double> posterior) {
  double scratch = 0.0;
  sigmoid_posteriors(sigmoid, votes, 1, posterior, {&scratch, 1});
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
  VoteColumns columns(data);
  return value_at(target, sigmoid, columns);
}

std::optional<Sigmoid> fit_sigmoid(SigmoidTarget target, const CalibrationData& data) {
  if (data.size() == 0 || are_votes_constant(data)) return std::nullopt;
  VoteColumns columns(data);
  Objective objective{target, &columns};
  double at[2] = {0.0, 0.0};
  double least = INFINITY;
  for (const double a : {1.0, 4.0, 16.0, 64.0})
    for (const double b : {-0.5, 0.0, 0.5}) {
      const double start[2] = {portable_log(a), b};
      const double value = evaluate_at(2, start, nullptr, &objective);
      if (value >= least) continue;
      least = value;
      std::copy_n(start, 2, at);
    }
  const double lower[2] = {portable_log(0.01), -3.0};
  const double upper[2] = {portable_log(1000.0), 3.0};
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
  return Sigmoid{portable_exp(at[0]), at[1]};
}

namespace {

/// The Bayes score divided by the highest gain.
double scaled_score(std::span<const double> posterior, std::span<const double> gains) {
  const double most = *std::max_element(gains.begin(), gains.end());
  return most > 0.0 ? bayes_score(posterior, gains) / most : 0.0;
}

/// The fallback of all calibrations.
double mean_gain(const CalibrationData& data) {
  std::vector<double> shares(data.gains.size(), 0.0);
  for (const int each : data.classes)
    shares[static_cast<std::size_t>(each)] += 1.0 / static_cast<double>(data.size());
  return scaled_score(shares, data.gains);
}

}  // namespace

double Calibration::score(std::span<const double> votes, std::span<const double> gains,
                          std::span<double> buffer) const {
  if (regression) return regression->scaled(votes);
  if (!sigmoid) return constant;
  sigmoid_posterior(*sigmoid, votes, buffer);
  return scaled_score(buffer, gains);
}

std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options) {
  std::vector<Calibration> fitted;
  // A single score contains no vote per class, so only regressions can use it.
  if (options.kinds != CalibrationKinds::regressions && data.width == data.gains.size())
    for (const SigmoidTarget target : kSigmoidTargets)
      fitted.push_back(
          {std::string(name_of(target)), fit_sigmoid(target, data), std::nullopt, mean_gain(data)});
  if (options.kinds != CalibrationKinds::sigmoids || data.width != data.gains.size())
    for (const RegressionSetting& setting : all_regressions()) {
      fitted.push_back({setting.name(), std::nullopt, std::nullopt, mean_gain(data)});
      if (auto regression = fit_regression(setting, data, options.regression))
        fitted.back().regression = std::move(*regression);
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
