#include "experiments/registry.h"

#include <vector>

namespace metafuse::experiments {

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> table = {
      // One row an experiment; its function stands in the file of its name.
  };
  return table;
}

const Experiment* find_experiment(std::string_view name) {
  for (const Experiment& experiment : experiments())
    if (experiment.name == name) return &experiment;
  return nullptr;
}

}  // namespace metafuse::experiments
