#include "fusion/learners/baselines/linear_ranker.h"

#include <cmath>
#include <sstream>

namespace metafuse::fusion::baselines {
namespace {

double term_value(const LinearTerm& term, const FeatureMatrix& documents, std::size_t document) {
  const bool is_unranked = documents.is_unranked(document, term.feature);
  return term.weight * (is_unranked ? term.unranked : documents.value(document, term.feature));
}

Error wrong_field(const std::string& field, const std::string& wanted) {
  return fail(Code::bad_data, field + ": not " + wanted + "; train the model again");
}

/// A finite number of an object.
Result<double> finite(const JsonObject& object, const std::string& path, const char* key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_number() || !std::isfinite(value->to_number<double>()))
    return wrong_field(path + key, "a finite number");
  return value->to_number<double>();
}

Result<LinearTerm> read_term(const Json& value, const std::string& path, std::size_t feature_count) {
  if (!value.is_object()) return wrong_field(path, "an object");
  const JsonObject& object = value.as_object();
  TRY(const auto feature, finite(object, path + ".", "feature"));
  const auto count = static_cast<double>(feature_count);
  if (feature < 0.0 || feature >= count || feature != std::floor(feature))
    return wrong_field(path + ".feature", "one of the model's features");
  TRY(const auto weight, finite(object, path + ".", "weight"));
  TRY(const auto unranked, finite(object, path + ".", "default"));
  return LinearTerm{static_cast<std::uint32_t>(feature), weight, unranked};
}

}  // namespace

LinearRanker::LinearRanker(double offset, std::vector<LinearTerm> terms, std::size_t feature_count)
    : offset_(offset), terms_(std::move(terms)), feature_count_(feature_count) {}

std::vector<double> LinearRanker::score(const FeatureMatrix& documents) const {
  std::vector<double> scores(documents.document_count(), offset_);
  for (std::size_t x = 0; x < scores.size(); ++x)
    for (const LinearTerm& term : terms_) scores[x] += term_value(term, documents, x);
  return scores;
}

std::vector<double> LinearRanker::contributions(const FeatureMatrix& documents, std::size_t document) const {
  std::vector<double> parts(feature_count_,
                            feature_count_ == 0 ? 0.0 : offset_ / static_cast<double>(feature_count_));
  for (const LinearTerm& term : terms_) parts[term.feature] += term_value(term, documents, document);
  return parts;
}

JsonObject LinearRanker::body() const {
  JsonArray terms;
  for (const LinearTerm& term : terms_)
    terms.push_back(
        JsonObject{{"feature", term.feature}, {"weight", term.weight}, {"default", term.unranked}});
  return {{"offset", offset_}, {"terms", std::move(terms)}};
}

std::string LinearRanker::describe(const std::vector<Feature>& features) const {
  std::ostringstream text;
  text << "score = " << offset_ << " + sum of weight * value\n";
  for (const LinearTerm& term : terms_)
    text << "  " << features[term.feature].name << ": weight " << term.weight << ", unranked as "
         << term.unranked << "\n";
  return text.str();
}

Result<std::shared_ptr<const Ranker>> read_linear_ranker(const JsonObject& body,
                                                         const std::vector<Feature>& features) {
  TRY(const auto offset, finite(body, "body.", "offset"));
  const Json* list = body.if_contains("terms");
  if (list == nullptr || !list->is_array()) return wrong_field("body.terms", "a list");
  std::vector<LinearTerm> terms;
  for (const Json& item : list->as_array()) {
    TRY(const auto term,
        read_term(item, "body.terms[" + std::to_string(terms.size()) + "]", features.size()));
    terms.push_back(term);
  }
  return std::shared_ptr<const Ranker>(
      std::make_shared<LinearRanker>(offset, std::move(terms), features.size()));
}

}  // namespace metafuse::fusion::baselines
