#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// The learner `auto`: chooses a learner and its options by cross-validation within the training queries, and
/// trains it on all of them. The model is that of the chosen learner. Its "training" record holds under
/// "auto" what was chosen, the alternatives, and their measured values.
///
/// in: learners - the learners to choose among
Learner auto_learner(std::vector<Learner> learners);

/// What `auto` chose, in short: {"chosen","queries"} and, if candidates were compared,
/// {"measure","value","rrf"} (rrf only if RRF was among them). If another candidate has a better mean, "lead"
/// says which, by how much, and the error of that difference. Empty for models trained by other learners.
///
/// in: training - the "training" record of a model
JsonObject brief_choice(const JsonObject& training);

/// The same in words: "RankBoost 3.cum, 50 rounds (map .5121, RRF .4779, 50 queries)".
std::string brief_choice_text(const JsonObject& training);

}  // namespace metafuse::fusion
