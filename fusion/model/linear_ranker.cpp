#include "fusion/model/linear_ranker.h"

#include <fmt/format.h>

#include "fusion/model/state_fields.h"

namespace metafuse::fusion {
namespace {

double term_value(const LinearTerm& term, const FeatureMatrix& documents, std::size_t document) {
  const bool is_unranked = documents.is_unranked(document, term.feature);
  return term.weight * (is_unranked ? term.unranked : documents.value(document, term.feature));
}

}  // namespace

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
  std::string text = fmt::format("score = {:g} + sum of weight * value\n", offset_);
  for (const LinearTerm& term : terms_)
    text += fmt::format("  {}: weight {:g}, unranked as {:g}\n", features[term.feature].name, term.weight,
                        term.unranked);
  return text;
}

Result<LinearRanker> read_linear_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  StateFields fields(body);
  const double offset = fields.weight("offset");
  const JsonArray* list = fields.array("terms");
  if (fields.failed()) return fields.error();
  std::vector<LinearTerm> terms;
  for (const Json& item : *list) {
    const std::string name = fmt::format("body.terms[{}]", terms.size());
    if (!item.is_object()) return fail(Code::bad_data, name + ": must be an object; train the model again");
    StateFields own(item.get_object(), name + '.');
    LinearTerm term;
    const std::uint64_t feature = own.count("feature");
    term.weight = own.weight("weight");
    term.unranked = own.weight("default");
    if (own.failed()) return own.error();
    if (feature >= features.size())
      return fail(Code::bad_data, name + ".feature: not one of the model's features; train the model again");
    term.feature = static_cast<std::uint32_t>(feature);
    terms.push_back(term);
  }
  return LinearRanker(offset, std::move(terms), features.size());
}

}  // namespace metafuse::fusion
