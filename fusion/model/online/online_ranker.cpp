#include "fusion/model/online/online_ranker.h"

#include <algorithm>
#include <sstream>

#include "fusion/model/state_fields.h"

namespace metafuse::fusion::online {

std::vector<double> OnlineInputs::row(const FeatureMatrix& documents, std::size_t document) const {
  std::vector<double> numbers(size(), has_bias ? 1.0 : 0.0);
  for (std::size_t f = 0; f < scales.size(); ++f)
    numbers[f] = documents.is_unranked(document, f)
                     ? 0.0
                     : (documents.value(document, f) + scales[f].offset) * scales[f].factor;
  return numbers;
}

std::optional<int> OnlineInputs::rank(double grade) const {
  const auto found = std::lower_bound(grades.begin(), grades.end(), grade);
  if (found == grades.end() || *found != grade) return std::nullopt;
  return static_cast<int>(found - grades.begin()) + 1;
}

std::vector<double> OnlineRanker::score(const FeatureMatrix& documents) const {
  std::vector<double> scores(documents.document_count());
  for (std::size_t d = 0; d < scores.size(); ++d) scores[d] = model_.predict(inputs_.row(documents, d)).score;
  return scores;
}

std::vector<double> OnlineRanker::contributions(const FeatureMatrix& documents, std::size_t document) const {
  // A constant input belongs to no feature, so the contributions of the features could not sum to the score.
  if (inputs_.has_bias) return {};
  std::vector<double> parts = model_.linear_weights();
  const auto row = inputs_.row(documents, document);
  for (std::size_t f = 0; f < parts.size(); ++f) parts[f] *= row[f];
  return parts;
}

JsonObject OnlineRanker::body() const {
  JsonArray scales;
  for (const InputScale& scale : inputs_.scales) scales.push_back(JsonArray{scale.offset, scale.factor});
  JsonObject body;
  body["grades"] = to_array(inputs_.grades);
  body["scales"] = std::move(scales);
  body["bias"] = inputs_.has_bias;
  body["state"] = model_.state();
  return body;
}

std::string OnlineRanker::describe(const std::vector<Feature>& features) const {
  const OnlineOptions& options = model_.options();
  std::ostringstream text;
  text << to_name(options.method) << " after " << model_.steps() << " examples, " << options.ranks
       << " ranks";
  if (is_ensemble(options.method)) text << ", " << options.rankers << " PRanks, tau " << options.tau;
  if (options.prank_step.rule != StepRule::perceptron)
    text << ", steps of " << to_name(options.prank_step.rule) << " with slack " << options.prank_step.slack;
  if (options.kernel.is_polynomial) text << ", kernel (x . x' + 1)^" << options.kernel.degree;
  text << "\ngrades";
  for (const double grade : inputs_.grades) text << ' ' << grade;
  text << '\n';
  const auto weights = model_.linear_weights();
  if (weights.empty()) return text.str() + "not a sum over features\n";
  for (std::size_t f = 0; f < features.size(); ++f)
    text << features[f].name << "\tweight " << weights[f] << "\tof (value + " << inputs_.scales[f].offset
         << ") x " << inputs_.scales[f].factor << '\n';
  if (inputs_.has_bias) text << "constant\tweight " << weights.back() << '\n';
  return text.str();
}

Result<OnlineRanker> read_online_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  StateFields fields(body);
  OnlineInputs inputs;
  inputs.grades = fields.weights("grades");
  inputs.has_bias = fields.flag("bias");
  const JsonArray* scales = fields.array("scales");
  const JsonObject* state = fields.object("state");
  if (fields.failed()) return fields.error();
  for (const Json& item : *scales) {
    JsonObject pair{{"scales", item}};
    StateFields inner(pair);
    const auto numbers = inner.weights("scales");
    if (inner.failed()) return inner.error();
    if (numbers.size() != 2) return fail(Code::bad_data, "body.scales: each must be an offset and a factor");
    inputs.scales.push_back({numbers[0], numbers[1]});
  }
  if (inputs.scales.size() != features.size())
    return fail(Code::bad_data, "body.scales: " + std::to_string(inputs.scales.size()) + " of them for " +
                                    std::to_string(features.size()) + " features");
  for (std::size_t i = 1; i < inputs.grades.size(); ++i)
    if (!(inputs.grades[i - 1] < inputs.grades[i])) return fail(Code::bad_data, "body.grades: not ascending");
  TRY(auto model, OnlineModel::read(*state));
  if (model.options().inputs != inputs.size())
    return fail(Code::bad_data, "body.state: the state has other dimensions than the features");
  if (static_cast<std::size_t>(model.options().ranks) != inputs.grades.size())
    return fail(Code::bad_data, "body.grades: as many as the state has ranks");
  return OnlineRanker(std::move(inputs), std::move(model));
}

}  // namespace metafuse::fusion::online
