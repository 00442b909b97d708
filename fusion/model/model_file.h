#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// A trained ranking function. Immutable; may be used from many threads at once.
class Ranker {
 public:
  virtual ~Ranker() = default;

  /// One finite score per document, higher is better. `documents` has the features the model was trained on,
  /// in the model's order.
  virtual std::vector<double> score(const FeatureMatrix& documents) const = 0;

  /// How much each feature contributes to one document's score (they sum to it); empty when the ranker is not
  /// a sum over features.
  virtual std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const = 0;

  /// The "body" of a model file.
  virtual JsonObject body() const = 0;

  /// What `metafuse model show` prints under the header: text for people.
  virtual std::string describe(const std::vector<Feature>& features) const = 0;
};

/// A model as it stands in a file:
/// {"format":"metafuse-model","version":1,"learner","features":[{"name","kind","depth"}],
/// "unranked","body","training"}
/// "unranked" says which cells of an input are unranked: "absent" (not named, or NULL) or "null" (NULL only;
/// a cell that is not named is 0).
struct Model {
  std::string learner;
  std::vector<Feature> features;
  std::shared_ptr<const Ranker> ranker;
  JsonObject training;  ///< options, counts and final losses; nothing that varies between equal runs
  bool is_absent_zero = false;
};

/// The file's text; equal models have equal text. Requires finite numbers.
std::string model_text(const Model& model);

/// Reads the "body" of a model file; errors name the field.
using ReadRanker = std::function<Result<std::shared_ptr<const Ranker>>(const JsonObject& body,
                                                                       const std::vector<Feature>& features)>;
/// The reader of the learner of that name; empty when there is no such learner.
using FindReader = std::function<ReadRanker(std::string_view learner)>;

/// errors: bad_data that names the file and the field: truncated, not JSON, of a later version, of an unknown
///         learner, non-finite numbers, a body that does not fit the features
Result<Model> parse_model(std::string_view text, std::string_view name, const FindReader& reader_of);

/// errors: no_input, and those of parse_model
Result<Model> read_model(const std::string& path, const FindReader& reader_of);

/// Writes beside, then renames.
/// errors: as write_file
Result<void> write_model(const std::string& path, const Model& model);

/// Where each of the model's features stands among `names`; kMissing for one that may be missing and is.
///
/// errors: bad_data that lists the names that are missing and those the model does not know
inline constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
Result<std::vector<std::size_t>> match_features(const Model& model, const std::vector<std::string>& names,
                                                bool may_be_missing);

}  // namespace metafuse::fusion
