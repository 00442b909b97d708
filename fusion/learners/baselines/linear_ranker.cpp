#include "fusion/learners/baselines/linear_ranker.h"

#include <sstream>

#include <fmt/format.h>

#include "fusion/learners/common/state_fields.h"

namespace metafuse::fusion::baselines {
namespace {

double term_value(const LinearTerm& term, const FeatureMatrix& documents, std::size_t document) {
  const bool is_unranked = documents.is_unranked(document, term.feature);
  return term.weight * (is_unranked ? term.unranked : documents.value(document, term.feature));
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
  StateFields fields(body);
  const double offset = fields.number("offset");
  const JsonArray* list = fields.array("terms");
  if (fields.failed()) return fields.error();
  std::vector<LinearTerm> terms;
  for (const Json& item : *list) {
    const std::string name = fmt::format("body.terms[{}]", terms.size());
    if (!item.is_object()) return fail(Code::bad_data, name + ": must be an object; train the model again");
    StateFields own(item.get_object(), name + '.');
    LinearTerm term;
    const std::uint64_t feature = own.count("feature");
    term.weight = own.number("weight");
    term.unranked = own.number("default");
    if (own.failed()) return own.error();
    if (feature >= features.size())
      return fail(Code::bad_data, name + ".feature: not one of the model's features; train the model again");
    term.feature = static_cast<std::uint32_t>(feature);
    terms.push_back(term);
  }
  return std::shared_ptr<const Ranker>(
      std::make_shared<LinearRanker>(offset, std::move(terms), features.size()));
}

}  // namespace metafuse::fusion::baselines
