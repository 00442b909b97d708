#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/progress.h"
#include "core/result.h"

namespace metafuse::experiments {

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

/// All experiments, in the order of `metafuse experiment list`.
std::span<const Experiment> experiments();

/// nullptr if there is no experiment of that name.
const Experiment* find_experiment(std::string_view name);

// The experiments, each in the file or folder of its name. Their errors are those of reading the data and of
// training; a missing file is no_input.

/// The home-page task of Freund et al. 2003 (sec. 2.1 and 6.1) on a Debian package index: RankBoost against
/// unsupervised fusion and every search template alone, four-fold cross-validated, over five samples of 1,200
/// base queries. The samples have the seeds after options.seed; the templates were designed on seed 1 alone.
/// Quick: one sample. About 10 s per sample on two cores.
Result<std::string> run_home_pages(const ExperimentOptions& options);

/// The vocabulary of the demonstration's index (service/base/vocabulary.h): how many of the demonstration's
/// topics with one typing error are corrected, how many correct ones are changed, and how fast title prefixes
/// are completed. Quick: 200 queries instead of 1,200.
Result<std::string> run_spelling(const ExperimentOptions& options);

/// Choosing the next query to judge (fusion/training/query_choice.h) against random choice, on
/// MQ2007-agg over the five folds, each with four draws of the first queries. Quick: one draw of one
/// fold. Full: ten draws.
Result<std::string> run_query_choice(const ExperimentOptions& options);

/// Learning from clicks alone: three kinds of simulated users on MQ2008-agg, 1,000 searches each, with a
/// store, its click model and `auto`; with and without a poisoner who controls 1 % of the addresses. Quick: 2
/// draws. Normal: 8. Full: 20.
Result<std::string> run_click_learning(const ExperimentOptions& options);

/// Fusion on MQ2007-agg and MQ2008-agg over the five official folds: RankBoost, its bagged form and monotone
/// trees against RRF, CombMNZ, Borda and SearXNG's formula, and against the runs in options.peer_runs.
/// Validation parts choose one configuration of ours for both sets, the number of rounds for each set, and
/// the peer's configuration; only then are the test parts read, once.
Result<std::string> run_letor_agg(const ExperimentOptions& options);

/// `auto` beside each learner that it chooses among, by five-fold cross-validation on every data set of
/// docs/results.md, including the demonstration if options.data contains packages.txt: how far it is behind
/// the best learner, which is known only in hindsight. Quick: without the two large sets, and one sample of
/// the demonstration.
Result<std::string> run_hindsight(const ExperimentOptions& options);

/// The quality of a fused ranking by the number of judged queries (1 to all): `auto`, RankBoost, its bagged
/// form and tuned weights against RRF, on MQ2007-agg, MQ2008-agg, TREC-3, TREC-COVID round 1 and, if
/// options.data contains packages.txt, the demonstration. Quick: 3 draws of up to 20 queries. Normal: 10
/// draws. Full: 30. With options.output, a run continues where an earlier one in that folder stopped.
Result<std::string> run_learning_curve(const ExperimentOptions& options);

/// Every fusion method on real runs and real engines: TREC-3 (40 systems), TREC-COVID round 1 (143 systems),
/// FedWeb 2013 (157 web search engines, lists reconstructed from the document ids).
Result<std::string> run_metasearch(const ExperimentOptions& options);

/// Keyword search by four templates, vector search by latent semantic indexing, their RRF and their learned
/// fusion (ten-fold cross-validated) on the Cystic Fibrosis collection. With options.output, it also writes
/// the documents, the index, the runs and the qrels, for `metafuse compare-methods`. Quick: without the
/// learner auto.
Result<std::string> run_hybrid(const ExperimentOptions& options);

/// Tables 1 and 2 and figures 2 and 3 of Harrington 2003: test losses with 95 % intervals, running losses.
Result<std::string> run_online(const ExperimentOptions& options);

/// Table 2, figure 2 and section 7.2 of Busa-Fekete et al. 2011. Quick: six settings, at most 100 rounds, 200
/// points per Gaussian process. Normal: all settings, up to 1,000 rounds as long as validation improves.
/// Full: up to 10,000 rounds without early stopping.
Result<std::string> run_calibrated(const ExperimentOptions& options);

/// The ensembles of run_calibrated with one factor changed at a time (grid and rounds, cuts, initial weights,
/// splits, what is chosen by what, ties, Gaussian processes, scales, c), beside draws with other seeds.
/// Quick: MQ2008 only.
Result<std::string> run_calibrated_factors(const ExperimentOptions& options);

/// The movie experiment of Freund et al. 2003, sec. 6.2, with MovieLens 100K instead of EachMovie: figures
/// 5 to 8, and the comparisons that sec. 6.2.6 and 7 propose. Quick: one split with 24 targets. Full:
/// every target.
Result<std::string> run_movies(const ExperimentOptions& options);

/// Training and test loss of RankBoost's four weak learners by round (Freund et al. 2003, fig. 4), four-fold,
/// on MQ2008-agg and, if options.data contains packages.txt, on the demonstration's recorded lists. Quick:
/// one fold and 60 rounds. Normal: 200. Full: 1,000 rounds.
Result<std::string> run_weak_learners(const ExperimentOptions& options);

/// MPBoost with each directed distance against RankBoost (Zhu et al. 2009): NDCG@1..10 on OHSUMED's five
/// folds beside the published sheets (fig. 3), on a sample of MSLR-WEB10K instead of Web-2 (fig. 5),
/// overfitting (fig. 6), and the distances themselves (fig. 2). Quick: one fold and 60 rounds. Normal: 300.
/// Full: 1,000.
Result<std::string> run_mpboost(const ExperimentOptions& options);

/// Rb-d, Rb-c and RankBoost+ (Connamacher et al. 2020): average ranks on users of MovieLens and queries of
/// MSLR (tables 1 and 3, fig. 3), on MQ2008's folds (tables 2 and 4), convergence (fig. 2), halting of Rb-d
/// (fig. 4), speed of both forms of RankBoost+ (fig. 1). Quick: 10 users, 4 queries, 1 fold, 40 rounds.
/// Normal: 100 rounds. Full: 200.
Result<std::string> run_rankboost_plus(const ExperimentOptions& options);

}  // namespace metafuse::experiments
