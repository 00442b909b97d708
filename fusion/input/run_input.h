#pragma once

#include "fusion/input/training_input.h"

namespace metafuse::fusion {

/// The training set of runs and their judgments; see read_training_set().
Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report);

}  // namespace metafuse::fusion
