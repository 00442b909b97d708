#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/interval.h"
#include "experiments/online_task.h"

namespace metafuse::experiments {

/// A method at one setting, over all trials.
struct OnlineRow {
  std::string name;           ///< "oap-bpm 0.3"
  Interval loss;              ///< mean |y_hat - y| on the test examples
  Interval rounded_loss;      ///< with predictions rounded to ranks
  std::vector<double> curve;  ///< running mean loss of the stream at OnlineTable::steps, mean over trials
};

struct OnlineTable {
  std::vector<double> steps;  ///< examples seen, for the curves
  std::vector<OnlineRow> rows;
  double noise_floor = -1.0;  ///< loss of the best rule, where that is known; else negative
};

/// Runs every method of the task on the same trials. The same seed gives the same table on any threads.
Result<OnlineTable> run_trials(const OnlineTask& task, const ExperimentOptions& options);

}  // namespace metafuse::experiments
