#include "fusion/model/votes/calibration.h"

#include <algorithm>
#include <cmath>

#include "core/portable_math.h"
#include "core/simd.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::votes {

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

double scaled_bayes_score(std::span<const double> posterior, std::span<const double> gains) {
  const double most = *std::max_element(gains.begin(), gains.end());
  return most > 0.0 ? bayes_score(posterior, gains) / most : 0.0;
}

double Calibration::score(std::span<const double> votes, std::span<const double> gains,
                          std::span<double> buffer) const {
  if (regression) return regression->scaled(votes);
  if (!sigmoid) return constant;
  sigmoid_posterior(*sigmoid, votes, buffer);
  return scaled_bayes_score(buffer, gains);
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
  calibration.constant = fields.weight("constant");
  if (object.contains("sigmoid")) {
    const auto numbers = fields.weights("sigmoid");
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

}  // namespace metafuse::fusion::votes
