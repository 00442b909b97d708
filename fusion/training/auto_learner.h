#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// The row `auto`: chooses a learner and its options by cross-validation inside the training queries, and
/// trains it on all of them. The model is the chosen learner's; its "training" says under "auto" what was
/// chosen among what, with the figures.
///
/// in: learners - the rows to choose among
Learner auto_learner(std::vector<Learner> learners);

/// What `auto` chose, in short: {"chosen","queries"} and, when candidates were compared,
/// {"measure","value","rrf"} (rrf only where RRF was among them). Empty for models that others chose.
///
/// in: training - of a model
JsonObject brief_choice(const JsonObject& training);

/// The same in words: "RankBoost 3.cum, 50 rounds (map .5121, RRF .4779, 50 queries)".
std::string brief_choice_text(const JsonObject& training);

}  // namespace metafuse::fusion
