#pragma once

#include "cli/train_options.h"
#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/input/training_input.h"

namespace metafuse::cli {

/// What a server stored as training data; what was left out is said on standard error.
///
/// errors: usage for options that a store has no use for; those of the store
Result<fusion::TrainingSet> read_store(const TrainArguments& arguments, const fusion::TrainingInput& input);

}  // namespace metafuse::cli
