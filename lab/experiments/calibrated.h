#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "lab/experiments/experiment.h"
#include "lab/learners/adaboost_mh/ensemble.h"
#include "lab/learners/adaboost_mh/training_data.h"

/// Calibrated AdaBoost.MH (Busa-Fekete et al. 2011): the folds of LETOR sets, and what is trained and chosen
/// on them.
namespace metafuse::lab::experiments::calibrated {

inline constexpr const char* kEqualRankBoost = "RankBoost, equal query weights";
inline constexpr const char* kAutoRow = "auto";
inline constexpr const char* kFileOrder = "the files' own order";
inline constexpr std::size_t kDepth = 10;
inline constexpr std::size_t kTargets = std::size(lab::adaboost_mh::kSigmoidTargets);

/// A LETOR set of five parts, with the figures published for it.
struct DataSet {
  std::string name;
  std::string folder;  ///< below --data; its parts are S1.txt to S5.txt, compressed or not
  evaluation::Mode mode = evaluation::Mode::letor3;
  std::string measure;  ///< the measure that the paper uses: "ndcg_cut_10" or "mean_ndcg"
  std::vector<std::pair<std::string, double>> published;  ///< figures of our rows, then of other methods
};

/// OHSUMED, MQ2008 and, if its folder exists, MQ2007.
std::vector<DataSet> data_sets(const std::string& data);

/// One part of a fold, as a training set and as graded documents.
struct Part {
  fusion::TrainingSet set;
  lab::adaboost_mh::GradedDocuments documents;
};

/// One fold, in LETOR's division.
struct FoldData {
  evaluation::Mode mode = evaluation::Mode::letor3;  ///< of the LETOR tools
  std::vector<double> grades;
  std::vector<double> gains;  ///< of the grades
  Part training, validation, test;
  std::vector<std::size_t> test_lines;  ///< each test document's line in its file, which orders equal scores
};

/// Reads fold 1 ... 5 as LETOR divides the parts: three to train, the next to validate, the next to test.
///
/// errors: those of the files
Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold);

/// The values that the LETOR tools print for the test documents, one row per query: NDCG@1 ... @10, MeanNDCG.
/// Equal scores are in the order of the files or, with are_ties_by_id, of the document ids.
std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             bool are_ties_by_id = false);

/// Mean NDCG@10 of the validation part by the LETOR tool; equal scores are in the order of the document ids.
double tool_ndcg_10(const FoldData& data, const std::vector<double>& scores);

/// The data on which each classifier is calibrated.
enum class SplitKind { own_documents, shared_documents, own_queries, own_training };
/// The initial weights of documents in boosting.
enum class StartKind { by_label, equal, resampled };

struct Plan {
  std::vector<lab::adaboost_mh::BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::size_t> rankboost_rounds;  ///< empty: without RankBoost
  std::vector<double> bases = {0,   10,  20,  30,  40,  50,  60,  70,  80,  90, 100,
                               110, 120, 130, 140, 150, 160, 170, 180, 190, 200};  ///< c
  std::size_t process_points = 500;
  std::size_t max_thresholds = 255;
  SplitKind split = SplitKind::own_documents;
  StartKind start = StartKind::by_label;
  bool chooses_by_fold = false;   ///< choose T, c and setting per fold, on its own validation part
  bool are_ties_by_id = false;    ///< order equal scores by document id instead of the order of the files
  bool scales_by_query = false;   ///< scale members' scores to [0, 1] within each query before adding them
  bool measures_by_tool = false;  ///< choose and weight by the LETOR tool's NDCG@10, not ndcg_10()
  /// Stop when two increases of the rounds in a row improved no method on validation.
  bool stops_early = true;
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

/// The plan for an experiment of the given size.
Plan plan_of(const ExperimentOptions& options);

/// One method on one fold, with one setting of what validation chooses.
struct Candidate {
  std::string method;                       ///< the name of a row
  std::string choice;                       ///< "T 50, c 100"
  double validation = 0.0;                  ///< NDCG@10
  std::vector<std::vector<double>> values;  ///< tool_values() of the test queries
};

/// The value of an order that learned nothing: all documents of a query are tied, so they keep the order of
/// their file.
Candidate order_candidate(const FoldData& data);

/// The result of one method of the table.
struct MethodResult {
  std::string choice;
  double validation = 0.0;         ///< NDCG@10 on the data on which choice and weights were made
  std::vector<double> fold_means;  ///< the paper's measure, one mean per fold
  std::vector<double> ndcg;        ///< NDCG@1 ... @10, each a mean over the folds
};

struct SetResult {
  std::map<std::string, MethodResult> methods;
  std::vector<std::vector<std::vector<double>>> p;  ///< indexed by target, target and fold
};

/// Reads the five folds of a set.
Result<std::vector<FoldData>> read_folds(const DataSet& set, const std::string& data);

/// Runs every method on the folds of a set.
///
/// in:     step_done - called after each number of rounds
/// errors: those of RankBoost
Result<SetResult> run_set(const DataSet& set, const std::vector<FoldData>& folds, const Plan& plan,
                          const std::function<void()>& step_done);

}  // namespace metafuse::lab::experiments::calibrated
