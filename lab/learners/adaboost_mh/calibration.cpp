#include "lab/learners/adaboost_mh/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <nlopt.h>

#include "core/portable_math.h"
#include "evaluation/measures/discounted_gain.h"
#include "fusion/model/online/online_model.h"

namespace metafuse::lab::adaboost_mh {

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

/// The fallback of all calibrations.
double mean_gain(const CalibrationData& data) {
  std::vector<double> shares(data.gains.size(), 0.0);
  for (const int each : data.classes)
    shares[static_cast<std::size_t>(each)] += 1.0 / static_cast<double>(data.size());
  return scaled_bayes_score(shares, data.gains);
}

}  // namespace

std::vector<RegressionSetting> all_regressions() {
  std::vector<RegressionSetting> settings = {{RegressionKind::gaussian_process, 1},
                                             {RegressionKind::logistic, 1},
                                             {RegressionKind::polynomial, 1},
                                             {RegressionKind::neural_network, 1}};
  for (int degree = 2; degree <= 5; ++degree) settings.push_back({RegressionKind::polynomial, degree});
  return settings;
}

std::vector<RegressionSetting> regressions_of(std::size_t width) {
  std::vector<RegressionSetting> settings = all_regressions();
  std::erase_if(settings, [width](const RegressionSetting& setting) {
    return setting.kind == RegressionKind::polynomial &&
           fusion::online::exact_map_size(width, setting.degree) > kMostMonomials;
  });
  return settings;
}

std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options) {
  std::vector<Calibration> fitted;
  // A single score contains no vote per class, so only regressions can use it.
  if (options.kinds != CalibrationKinds::regressions && data.width == data.gains.size())
    for (const SigmoidTarget target : kSigmoidTargets)
      fitted.push_back(
          {std::string(name_of(target)), fit_sigmoid(target, data), std::nullopt, mean_gain(data)});
  if (options.kinds != CalibrationKinds::sigmoids || data.width != data.gains.size())
    for (const RegressionSetting& setting : regressions_of(data.width)) {
      fitted.push_back({setting.name(), std::nullopt, std::nullopt, mean_gain(data)});
      if (auto regression = fit_regression(setting, data, options.regression))
        fitted.back().regression = std::move(*regression);
    }
  return fitted;
}

}  // namespace metafuse::lab::adaboost_mh
