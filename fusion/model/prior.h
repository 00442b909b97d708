#pragma once

// A ranking to start from, made of models of other domains. What a domain has learned about its lists says
// something about the same lists, and about other lists of the same engines, in a domain where nothing has
// been judged yet.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// A model of another domain.
struct PriorSource {
  std::string name;  ///< of its domain or file, for records
  const Model* model = nullptr;
};

/// H_0 over the features of a domain: thresholded lists with weights, so that it scores, explains itself and
/// is stored like what is learned.
struct Prior {
  std::vector<WeakRanking> steps;
  std::vector<std::string> sources;  ///< the models that took part
  std::size_t lists_by_name = 0;     ///< lists that a source has, of the same template and engine
  std::size_t lists_by_engine = 0;   ///< other lists of an engine that a source asks
  std::size_t lists_unknown = 0;     ///< lists of which no source knows anything
};

/// What a model's "training" record says of the judged base queries that it learned from: how many of its own
/// have a relevant document in a list.
inline constexpr const char* kJudgedQueries = "judged_queries";

/// Makes a prior of models. In each model, a list is what the model's list of the same name is; else the mean
/// of the model's lists of the same engine (the part of a name after the last '@'); else the mean of the
/// lists that were found in the model. What a list says is the score of a document that only it holds, at
/// each rank, whatever the form of the model, with derived features left out. The scores are scaled so that a
/// document at the top of every list has about the same score in each model. Models count by the numbers of
/// their own judged queries: clicks, and what they took from other domains, add nothing to it.
///
/// errors: bad_data: no model knows any of the lists or engines
/// cost:   of each model, the scores of lists x depth documents
Result<Prior> prior_of(std::span<const PriorSource> sources, const std::vector<Feature>& features);

/// The prior alone as a model. Its "training" record holds prior_record() under "prior".
Model model_of(const Prior& prior, const std::vector<Feature>& features);

/// {"models","lists_by_name","lists_by_engine","lists_unknown"}
JsonObject prior_record(const Prior& prior);

/// The learner that model_of() names.
inline constexpr const char* kPriorLearner = "other-domains";

}  // namespace metafuse::fusion
