#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/progress.h"
#include "core/result.h"
#include "lab/experiments/report.h"

namespace metafuse::lab::experiments {

struct ExperimentOptions {
  enum class Size { quick, normal, full };

  std::string data;       ///< the folder of the data sets (--data)
  std::string output;     ///< the folder for table, JSON and HTML; empty: only print the table
  std::string peer_runs;  ///< runs of another learner to compare with; only if the experiment takes them
  Size size = Size::normal;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;

  bool is_quick() const { return size == Size::quick; }
  bool is_full() const { return size == Size::full; }
  /// A count, rate or list for each size.
  template <class Value>
  Value by_size(Value quick, Value normal, Value full) const {
    return is_quick() ? quick : is_full() ? full : normal;
  }
};

using RunExperiment = Result<Report>(const ExperimentOptions& options);

/// A row of the table of experiments. Each reproduces tables and figures of a paper, or makes one of our own.
struct Experiment {
  std::string name;
  std::string title;
  std::string meaning;  ///< one line
  std::string source;   ///< the paper's section, or ours
  std::string data;     ///< the folders that it needs below --data
  /// errors: those of reading the data and of training; a missing file is no_input
  RunExperiment* run = nullptr;
  struct Takes {
    bool full_size = false;  ///< whether a full run differs from a normal one
    bool peer_runs = false;  ///< whether ExperimentOptions::peer_runs may be set
  } takes = {};
};

/// All experiments, in the order of `metafuse-lab experiment list`.
std::span<const Experiment> experiments();

/// nullptr if there is no experiment of that name.
const Experiment* find_experiment(std::string_view name);

/// Runs an experiment; writes NAME.txt, NAME.json and NAME.html to options.output if that is given.
///
/// out:    the tables and the claims as text
/// errors: usage: no data folder; those of the experiment and of writing
Result<std::string> run(const Experiment& experiment, const ExperimentOptions& options);

// Each experiment stands in the file or folder of its name, which begins with what it does.
RunExperiment run_home_pages, run_spelling, run_letor_agg, run_learning_curve, run_hindsight,
    run_other_domains, run_fewer_engines, run_label_noise, run_judges, run_click_learning, run_metasearch,
    run_hybrid, run_online, run_calibrated, run_calibrated_factors, run_movies, run_weak_learners,
    run_mpboost, run_rankboost_plus;

}  // namespace metafuse::lab::experiments
