#include <algorithm>
#include <memory>
#include <utility>

#include "fusion/data/features.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::similarity {
namespace {

constexpr const char* kSimilarity = "similarity";  // the field of the body

/// The index of "derived:vsim", or the number of features if there is none.
std::size_t similarity_place(const std::vector<Feature>& features) {
  const auto at = std::find_if(features.begin(), features.end(),
                               [](const Feature& feature) { return feature.name == kSimilarityFeature; });
  return static_cast<std::size_t>(at - features.begin());
}

/// A ranker, and the similarities from which one of its features is computed.
class SimilarityRanker final : public Ranker {
 public:
  SimilarityRanker(LinearRanker similarity, SharedRanker inner, std::size_t place)
      : similarity_(std::move(similarity)), inner_(std::move(inner)), place_(place) {}

  SharedRanker inner() const override { return inner_; }
  std::vector<double> score(const FeatureMatrix& documents) const override {
    return inner_->score(filled(documents));
  }
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override {
    return inner_->contributions(filled(documents), document);
  }
  JsonObject body() const override { return {{kSimilarity, similarity_.body()}, {"ranker", inner_->body()}}; }
  std::string describe(const std::vector<Feature>& features) const override {
    return inner_->describe(features) + '\n' + std::string(kSimilarityFeature) + ": " +
           similarity_.describe(features);
  }

 private:
  FeatureMatrix filled(const FeatureMatrix& documents) const {
    return with_values(documents, place_, similarity_.score(documents));
  }

  LinearRanker similarity_;
  SharedRanker inner_;
  std::size_t place_;
};

Result<TrainingResult> train_with_similarity(const Learner& learner, const TrainingRequest& request) {
  const std::size_t place = similarity_place(request.train->matrix.features());
  if (place == request.train->matrix.feature_count()) return learner.train(request);
  if (request.communicator != nullptr)
    return fail(Code::usage, "--derive vsim needs all queries in one process; leave it out, or train in one");
  TrainingRequest inner = request;
  Model resumed;
  TRY(auto similarity, vector_similarity(*request.train, Viewers::lists));
  bool are_own_grades_in = true;
  if (request.resume != nullptr) {
    resumed = *request.resume;
    resumed.ranker = request.resume->ranker->inner();
    if (resumed.ranker == nullptr || resumed.features != request.train->matrix.features())
      return fail(Code::bad_data, "--resume: the model was trained on different features");
    // Whoever goes on with the same documents has the same similarities, in which their grades take part.
    const JsonObject before = request.resume->ranker->body();
    are_own_grades_in = similarity.body() == before.at(kSimilarity);
    TRY(similarity, read_linear_ranker(before.at(kSimilarity).as_object(), resumed.features));
    inner.resume = &resumed;
  }
  const auto filled = [&](const TrainingSet& set, const std::vector<double>& column) {
    TrainingSet copy = set;
    copy.matrix = with_values(set.matrix, place, column);
    return copy;
  };
  const auto scores_of = [&](const TrainingSet& set) { return similarity.score(set.matrix); };
  std::vector<double> column = scores_of(*request.train);
  if (are_own_grades_in) column = leave_one_out(*request.train, std::move(column), Viewers::lists);
  const TrainingSet train = filled(*request.train, column);
  TrainingSet validate;
  inner.train = &train;
  if (request.validate != nullptr) {
    validate = filled(*request.validate, scores_of(*request.validate));
    inner.validate = &validate;
  }
  auto result = learner.train(inner);
  if (!result) return result;
  if (result->again) {
    Learner chosen = learner;
    chosen.train = std::move(result->again);
    result->again = [chosen](const TrainingRequest& other) { return train_with_similarity(chosen, other); };
  }
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
  const JsonObject* similarity = fields.object(kSimilarity);
  const JsonObject* ranker = fields.object("ranker");
  if (fields.failed()) return fields.error();
  TRY(auto linear, read_linear_ranker(*similarity, features));
  TRY(auto inner, read(*ranker, features));
  return std::make_shared<SimilarityRanker>(std::move(linear), std::move(inner), place);
}

Learner with_similarity_feature(Learner learner) {
  const auto plain = std::make_shared<const Learner>(learner);
  learner.train = [plain](const TrainingRequest& request) { return train_with_similarity(*plain, request); };
  return learner;
}

}  // namespace metafuse::fusion::similarity
