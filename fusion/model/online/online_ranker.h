#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusion/model/model_file.h"
#include "fusion/model/online/online_model.h"

namespace metafuse::fusion::online {

/// Maps a feature to a number: (value + offset) x factor; unranked is 0. The values of a rank feature are
/// minus the rank. For a list of depth D, rank 1 becomes 1 and rank D becomes 1 / D.
struct InputScale {
  double offset = 0.0;
  double factor = 1.0;
};

/// Maps documents and grades to the instances and ranks of an online model.
struct OnlineInputs {
  std::vector<InputScale> scales;  ///< one per feature
  bool has_bias = false;           ///< whether there is a last input that is always 1
  std::vector<double> grades;      ///< ascending; rank r means grades[r - 1]

  std::size_t size() const { return scales.size() + (has_bias ? 1 : 0); }
  /// One row of size() numbers.
  std::vector<double> row(const FeatureMatrix& documents, std::size_t document) const;
  /// The rank of a grade; nothing if the model does not have this grade.
  std::optional<int> rank(double grade) const;
};

/// An online model as a ranker of documents. Body:
/// {"grades":[...],"scales":[[offset, factor]...],"bias","state"}.
class OnlineRanker : public Ranker {
 public:
  OnlineRanker(OnlineInputs inputs, OnlineModel model)
      : inputs_(std::move(inputs)), model_(std::move(model)) {}

  const OnlineInputs& inputs() const { return inputs_; }
  const OnlineModel& model() const { return model_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  OnlineInputs inputs_;
  OnlineModel model_;
};

/// errors: bad_data, naming the field
Result<OnlineRanker> read_online_ranker(const JsonObject& body, const std::vector<Feature>& features);

}  // namespace metafuse::fusion::online
