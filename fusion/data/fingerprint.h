#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// Digests of the parts of a training set, by name ("features", "queries", "documents", "grades", "values",
/// "feedback"): equal for equal sets, different for others but by accident (64 bits, not against an
/// adversary). cost: O(documents x features)
std::vector<std::pair<std::string, std::string>> fingerprint(const TrainingSet& set,
                                                             Communicator* communicator = nullptr);

}  // namespace metafuse::fusion
