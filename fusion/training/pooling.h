#pragma once

// Learning from the judged queries of other domains that ask the same lists, together with one's own.

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// A learner that trains the given one on its request as ever, and rankboost-blend on the request's queries
/// together with those of other domains, each of these counting as a small part of an own one. Which of
/// these models is given is measured on the own queries, by models that have not seen them: the first
/// weight, unless another way is better by more than a standard error. With one own base query that has a
/// relevant document, the first weight is taken. With none, only the given learner is trained: it knows how
/// far clicks can be relied on. The model's record says under "pooled" what was measured: {"weight" (0:
/// others do not count),"queries","measured_queries","among":[{"weight","value"}]}.
///
/// in:     others - has the features of all sets to train on; may have no pairs of clicks
/// cost:   of a training, up to six times that of the learner and of rankboost-blend with each weight
Learner pooled_learner(Learner learner, TrainingSet others);

}  // namespace metafuse::fusion
