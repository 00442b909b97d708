#include <algorithm>
#include <memory>
#include <utility>

#include "fusion/data/features.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::similarity {
namespace {

/// The index of "derived:vsim", or the number of features if there is none.
std::size_t similarity_place(const std::vector<Feature>& features) {
  const auto at = std::find_if(features.begin(), features.end(),
                               [](const Feature& feature) { return feature.name == kSimilarityFeature; });
  return static_cast<std::size_t>(at - features.begin());
}

/// A ranker, and the similarities from which one of its features is computed.
class SimilarityRanker final : public Ranker {
 public:
  SimilarityRanker(std::shared_ptr<const LinearRanker> similarity, SharedRanker inner, std::size_t place)
      : similarity_(std::move(similarity)), inner_(std::move(inner)), place_(place) {}

  const std::shared_ptr<const LinearRanker>& similarity() const { return similarity_; }
  const SharedRanker& inner() const { return inner_; }

  std::vector<double> score(const FeatureMatrix& documents) const override {
    return inner_->score(filled(documents));
  }
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override {
    return inner_->contributions(filled(documents), document);
  }
  JsonObject body() const override {
    return {{"similarity", similarity_->body()}, {"ranker", inner_->body()}};
  }
  std::string describe(const std::vector<Feature>& features) const override {
    return inner_->describe(features) + '\n' + std::string(kSimilarityFeature) + ": " +
           similarity_->describe(features);
  }

 private:
  FeatureMatrix filled(const FeatureMatrix& documents) const {
    return with_values(documents, place_, similarity_->score(documents));
  }

  std::shared_ptr<const LinearRanker> similarity_;
  SharedRanker inner_;
  std::size_t place_;
};

/// VSIM over the lists. Other derived features do not count as viewers.
Result<std::shared_ptr<const LinearRanker>> similarity_of(const TrainingSet& set) {
  TRY(const auto whole, vector_similarity(set));
  std::vector<LinearTerm> terms;
  for (const LinearTerm& term : whole.terms())
    if (!is_derived(set.matrix.features()[term.feature])) terms.push_back(term);
  return std::make_shared<const LinearRanker>(whole.offset(), std::move(terms), set.matrix.feature_count());
}

Result<TrainingResult> train_with_similarity(const Learner& learner, const TrainingRequest& request) {
  const std::size_t place = similarity_place(request.train->matrix.features());
  if (place == request.train->matrix.feature_count()) return learner.train(request);
  if (request.communicator != nullptr)
    return fail(Code::usage, "--derive vsim needs all queries in one process; leave it out, or train in one");
  TrainingRequest inner = request;
  Model resumed;
  std::shared_ptr<const LinearRanker> similarity;
  if (request.resume != nullptr) {
    const auto* before = dynamic_cast<const SimilarityRanker*>(request.resume->ranker.get());
    if (before == nullptr || request.resume->features != request.train->matrix.features())
      return fail(Code::bad_data, "--resume: the model was trained on different features");
    similarity = before->similarity();
    resumed = *request.resume;
    resumed.ranker = before->inner();
    inner.resume = &resumed;
  } else {
    TRY(similarity, similarity_of(*request.train));
  }
  const auto filled = [&](const TrainingSet& set) {
    TrainingSet copy = set;
    copy.matrix = with_values(set.matrix, place, similarity->score(set.matrix));
    return copy;
  };
  const TrainingSet train = filled(*request.train);
  TrainingSet validate;
  inner.train = &train;
  if (request.validate != nullptr) {
    validate = filled(*request.validate);
    inner.validate = &validate;
  }
  auto result = learner.train(inner);
  if (!result) return result;
  result->model.ranker =
      std::make_shared<SimilarityRanker>(std::move(similarity), std::move(result->model.ranker), place);
  return result;
}

}  // namespace

Result<SharedRanker> read_with_similarity(const ReadRanker& read, const JsonObject& body,
                                          const std::vector<Feature>& features) {
  const std::size_t place = similarity_place(features);
  if (place == features.size()) return read(body, features);
  StateFields fields(body);
  const JsonObject* similarity = fields.object("similarity");
  const JsonObject* ranker = fields.object("ranker");
  if (fields.failed()) return fields.error();
  TRY(auto linear, read_linear_ranker(*similarity, features));
  TRY(auto inner, read(*ranker, features));
  return std::make_shared<SimilarityRanker>(std::dynamic_pointer_cast<const LinearRanker>(linear),
                                            std::move(inner), place);
}

Learner with_similarity_feature(Learner learner) {
  const auto plain = std::make_shared<const Learner>(learner);
  learner.train = [plain](const TrainingRequest& request) { return train_with_similarity(*plain, request); };
  return learner;
}

}  // namespace metafuse::fusion::similarity
