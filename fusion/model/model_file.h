#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/list_choice.h"
#include "fusion/model/relevance_curve.h"

namespace metafuse::fusion {

struct QueryInstances;
class SumRanker;

/// A trained ranking function. Immutable, so any number of threads may use it at the same time.
class Ranker {
 public:
  virtual ~Ranker() = default;

  /// Returns one finite score per document; higher is better. `documents` has the features the model was
  /// trained on, in the model's order.
  virtual std::vector<double> score(const FeatureMatrix& documents) const = 0;

  /// What each feature contributes to one document's score; the contributions sum to the score. Empty if the
  /// ranker is not a sum over features.
  virtual std::vector<double> contributions(const FeatureMatrix& /*documents*/,
                                            std::size_t /*document*/) const {
    return {};
  }

  /// The scores of one base query's instances, of which `features` are made.
  virtual std::vector<double> score_instances(const std::vector<Feature>& features,
                                              const QueryInstances& instances) const;

  /// The ranker as a sum over features (fusion/model/sum_ranker.h); nullptr if it is none.
  virtual const SumRanker* sum() const { return nullptr; }

  /// The ranker to which this one passes documents after filling in a feature; nullptr if it is no such one.
  virtual std::shared_ptr<const Ranker> inner() const { return nullptr; }

  /// The "body" object of the model file.
  virtual JsonObject body() const = 0;

  /// The text that `metafuse model show` prints below the header, for people.
  virtual std::string describe(const std::vector<Feature>& features) const = 0;
};

using SharedRanker = std::shared_ptr<const Ranker>;

/// The content of a model file:
/// {"format":"metafuse-model","version":1,"learner","features":[{"name","kind","depth"}],
/// "unranked","body","relevance","choice","training"}
/// "unranked" says which cells of an input are unranked: "absent" (not named, or NULL) or "null" (only NULL;
/// a cell that is not named is 0). "relevance" is there only if the scores were calibrated,
/// "choice" only if it was learned which lists to ask for first.
struct Model {
  std::string learner;
  std::vector<Feature> features;
  SharedRanker ranker;
  JsonObject training;  ///< options, counts and final losses; nothing that differs between equal runs
  bool is_absent_zero = false;
  std::optional<RelevanceCurve> relevance{};  ///< what the scores mean, if they were calibrated
  std::optional<ListChoice> choice{};         ///< which lists to ask for first, if that was learned
};

/// The text of a model file; equal models have equal texts. Requires finite numbers.
std::string model_text(const Model& model);

/// Reads the "body" of a model file. Errors name the field.
using ReadRanker =
    std::function<Result<SharedRanker>(const JsonObject& body, const std::vector<Feature>& features)>;

/// errors: bad_data that names the file and the field: a truncated file, not JSON, a later version, an
///         unknown form, numbers that are not finite, a body that does not fit the features
Result<Model> parse_model(std::string_view text, std::string_view name, const ReadRanker& read_body);

/// errors: no_input, and those of parse_model
Result<Model> read_model(const std::string& path, const ReadRanker& read_body);

/// Writes a temporary file beside the target, then renames it.
/// errors: as write_file
Result<void> write_model(const std::string& path, const Model& model);

/// The index of each of the model's features among `names`; kMissing for an absent one if `may_be_missing`.
///
/// errors: bad_data that lists the missing names and those that the model does not know
inline constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
Result<std::vector<std::size_t>> match_features(const Model& model, const std::vector<std::string>& names,
                                                bool may_be_missing);

}  // namespace metafuse::fusion
