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
  std::string peer_runs;  ///< runs of another learner to compare with; only if Experiment::takes_peer_runs
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

/// A row of the table of experiments. Each reproduces tables and figures of a paper, or makes one of our own.
struct Experiment {
  std::string name;
  std::string title;
  std::string meaning;  ///< one line
  std::string source;   ///< the paper's section, or ours
  std::string data;     ///< the folders that it needs below --data
  /// errors: those of reading the data and of training; a missing file is no_input
  Result<Report> (*run)(const ExperimentOptions&) = nullptr;
  bool takes_peer_runs = false;  ///< whether ExperimentOptions::peer_runs may be set
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

Result<Report> run_home_pages(const ExperimentOptions& options);
Result<Report> run_spelling(const ExperimentOptions& options);
Result<Report> run_other_domains(const ExperimentOptions& options);
Result<Report> run_fewer_engines(const ExperimentOptions& options);
Result<Report> run_click_learning(const ExperimentOptions& options);
Result<Report> run_letor_agg(const ExperimentOptions& options);
Result<Report> run_hindsight(const ExperimentOptions& options);
Result<Report> run_judges(const ExperimentOptions& options);
Result<Report> run_label_noise(const ExperimentOptions& options);
Result<Report> run_learning_curve(const ExperimentOptions& options);
Result<Report> run_metasearch(const ExperimentOptions& options);
Result<Report> run_hybrid(const ExperimentOptions& options);
Result<Report> run_online(const ExperimentOptions& options);
Result<Report> run_calibrated(const ExperimentOptions& options);
Result<Report> run_calibrated_factors(const ExperimentOptions& options);
Result<Report> run_movies(const ExperimentOptions& options);
Result<Report> run_weak_learners(const ExperimentOptions& options);
Result<Report> run_mpboost(const ExperimentOptions& options);
Result<Report> run_rankboost_plus(const ExperimentOptions& options);

}  // namespace metafuse::lab::experiments
