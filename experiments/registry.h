#pragma once

#include <span>
#include <string_view>

#include "experiments/experiment.h"

namespace metafuse::experiments {

/// All experiments, in the order of `metafuse experiment list`.
std::span<const Experiment> experiments();

/// nullptr when there is none of that name.
const Experiment* find_experiment(std::string_view name);

}  // namespace metafuse::experiments
