#pragma once

#include <cstdint>
#include <string>

#include "core/progress.h"
#include "core/result.h"

namespace metafuse::experiments {

struct ExperimentOptions {
  enum class Size { quick, normal, full };

  std::string data;       ///< folder of the data sets (--data)
  std::string output;     ///< folder for table, JSON and HTML; empty prints the table only
  std::string peer_runs;  ///< runs of another learner to compare with; only where Experiment::takes_peer_runs
  Size size = Size::normal;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
};

/// A row of the table of experiments: each remakes one table or figure of a paper, or one of ours.
struct Experiment {
  std::string name;
  std::string meaning;  ///< one line
  std::string source;   ///< the paper's section, or ours
  std::string data;     ///< folders that it needs below --data
  /// Runs it. out: the table as text, for standard output; files go to options.output.
  Result<std::string> (*run)(const ExperimentOptions&) = nullptr;
  bool takes_peer_runs = false;  ///< whether ExperimentOptions::peer_runs may be set
};

}  // namespace metafuse::experiments
