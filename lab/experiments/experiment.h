#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/progress.h"
#include "core/result.h"

namespace metafuse::lab::experiments {

struct ExperimentOptions {
  enum class Size { quick, normal, full };

  std::string data;       ///< the folder of the data sets (--data)
  std::string output;     ///< the folder for table, JSON and HTML; empty: only print the table
  std::string peer_runs;  ///< runs of another learner to compare with; only if Experiment::takes_peer_runs
  Size size = Size::normal;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;

  bool is_quick() const { return size == Size::quick; }
  bool is_full() const { return size == Size::full; }
};

/// A row of the table of experiments. Each reproduces tables and figures of a paper, or makes one of our own.
struct Experiment {
  std::string name;
  std::string meaning;  ///< one line
  std::string source;   ///< the paper's section, or ours
  std::string data;     ///< the folders that it needs below --data
  /// Runs the experiment.
  /// out:    the table as text, for standard output; files are written to options.output
  Result<std::string> (*run)(const ExperimentOptions&) = nullptr;
  bool takes_peer_runs = false;  ///< whether ExperimentOptions::peer_runs may be set
};

/// All experiments, in the order of `metafuse-lab experiment list`.
std::span<const Experiment> experiments();

/// nullptr if there is no experiment of that name.
const Experiment* find_experiment(std::string_view name);

// The experiments, each in the file or folder of its name, which begins with what it does. Their errors are
// those of reading the data and of training; a missing file is no_input.

Result<std::string> run_home_pages(const ExperimentOptions& options);
Result<std::string> run_spelling(const ExperimentOptions& options);
Result<std::string> run_other_domains(const ExperimentOptions& options);
Result<std::string> run_fewer_engines(const ExperimentOptions& options);
Result<std::string> run_query_choice(const ExperimentOptions& options);
Result<std::string> run_click_learning(const ExperimentOptions& options);
Result<std::string> run_letor_agg(const ExperimentOptions& options);
Result<std::string> run_hindsight(const ExperimentOptions& options);
Result<std::string> run_judges(const ExperimentOptions& options);
Result<std::string> run_label_noise(const ExperimentOptions& options);
Result<std::string> run_learning_curve(const ExperimentOptions& options);
Result<std::string> run_metasearch(const ExperimentOptions& options);
Result<std::string> run_hybrid(const ExperimentOptions& options);
Result<std::string> run_online(const ExperimentOptions& options);
Result<std::string> run_calibrated(const ExperimentOptions& options);
Result<std::string> run_calibrated_factors(const ExperimentOptions& options);
Result<std::string> run_movies(const ExperimentOptions& options);
Result<std::string> run_weak_learners(const ExperimentOptions& options);
Result<std::string> run_mpboost(const ExperimentOptions& options);
Result<std::string> run_rankboost_plus(const ExperimentOptions& options);

}  // namespace metafuse::lab::experiments
