#include "fusion/learners/adaboost_mh/calibration.h"

#include <algorithm>

#include "fusion/learners/online/state_fields.h"

namespace metafuse::fusion::adaboost_mh {
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
  // One score is no vote for each class: only regressions take it.
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
    TRY(auto regression, read_regression(*inner));
    calibration.regression = std::move(regression);
  }
  if (fields.failed()) return fields.error();
  return calibration;
}

}  // namespace metafuse::fusion::adaboost_mh
