#pragma once

#include "fusion/input/training_input.h"

namespace metafuse::fusion {

/// The training set of LETOR or aggregation files; see read_training_set(). Blocks of lines are parsed on
/// input.threads workers.
Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report);

}  // namespace metafuse::fusion
