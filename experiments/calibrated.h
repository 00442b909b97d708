#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "experiments/experiment.h"
#include "fusion/learners/adaboost_mh/ensemble.h"
#include "fusion/learners/adaboost_mh/training_data.h"

/// Calibrated AdaBoost.MH (Busa-Fekete et al. 2011) on one fold of a LETOR set.
namespace metafuse::experiments::calibrated {

inline constexpr const char* kEqualRankBoost = "RankBoost, equal query weights";
inline constexpr const char* kAutoRow = "auto";

/// A LETOR set of five parts, with what was published for it.
struct DataSet {
  std::string name;
  std::string folder;  ///< below --data; parts are S1.txt to S5.txt, packed or not
  evaluation::Mode mode = evaluation::Mode::letor3;
  std::string measure;                                    ///< the paper's: "ndcg_cut_10" or "mean_ndcg"
  std::vector<std::pair<std::string, double>> published;  ///< by the names of our rows, then other methods
};

/// OHSUMED, MQ2008 and MQ2007, the last only when it is there.
std::vector<DataSet> data_sets(const std::string& data);

/// A part of a fold, as a set and as graded documents.
struct Part {
  fusion::TrainingSet set;
  fusion::adaboost_mh::GradedDocuments documents;
};

/// One fold, as LETOR cuts it.
struct FoldData {
  std::vector<double> grades;
  Part training, validation, test;
  std::vector<std::size_t> test_lines;  ///< where each test document stands in its file, for equal scores
};

/// Fold 1 ... 5: three parts to train, the next to validate, the next to test, as LETOR cuts them.
///
/// errors: those of the files
Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold);

/// What the LETOR tools print, one row per query: NDCG@1 ... @10, MeanNDCG. Equal scores stand in the
/// files' order, or by document id.
std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             evaluation::Mode mode, bool are_ties_by_id = false);

/// What each classifier is calibrated on.
enum class SplitKind { own_documents, shared_documents, own_queries, own_training };
/// What documents weigh at the start of boosting.
enum class StartKind { by_label, equal, resampled };

struct Plan {
  std::vector<fusion::adaboost_mh::BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::size_t> rankboost_rounds;  ///< empty: without RankBoost
  std::vector<double> bases = {0,   10,  20,  30,  40,  50,  60,  70,  80,  90, 100,
                               110, 120, 130, 140, 150, 160, 170, 180, 190, 200};  ///< c
  std::size_t process_points = 500;
  std::size_t max_thresholds = 255;
  SplitKind split = SplitKind::own_documents;
  StartKind start = StartKind::by_label;
  bool chooses_by_fold = false;   ///< T, c and setting for each fold by its own validation part
  bool are_ties_by_id = false;    ///< equal scores stand by document id instead of the files' order
  bool scales_by_query = false;   ///< members' scores go from 0 to 1 within each query before they are added
  bool measures_by_tool = false;  ///< choices and weights by the set's own NDCG@10 instead of [1]
  bool stops_early = true;  ///< when two larger numbers of rounds in a row helped no method on validation
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

/// The plan of an experiment's size.
Plan plan_of(const ExperimentOptions& options);

/// A method at one setting of what validation chooses, on one fold.
struct Candidate {
  std::string method;                       ///< the name of a row
  std::string choice;                       ///< "T 50, c 100"
  double validation = 0.0;                  ///< NDCG@10
  std::vector<std::vector<double>> values;  ///< tool_values() of the test queries
};

/// Boosts and calibrates on one fold, a number of rounds after the other. Each setting draws its own fifth of
/// the training documents to be calibrated on.
class FoldRunner {
 public:
  /// in: stream - picks the draws, another for each fold
  FoldRunner(const FoldData& data, const Plan& plan, evaluation::Mode mode, std::uint64_t stream);
  ~FoldRunner();
  FoldRunner(const FoldRunner&) = delete;
  FoldRunner& operator=(const FoldRunner&) = delete;

  /// Goes on to so many rounds.
  /// cost:   settings x rounds, and settings x calibrations
  std::vector<Candidate> run_to(std::size_t rounds);

  /// Sec. 7.2: the five CPC scores of the test documents after the last rounds, of trees with about
  /// 30 leaves.
  const std::array<std::vector<double>, 5>& sigmoid_scores() const;
  /// Calibrations so far that had constant votes to fit.
  std::size_t fallbacks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// RankBoost on the whole training part, as the published one was, a candidate for each number of rounds;
/// then the same where every query weighs the same, whatever the number of its pairs, and what `auto` chooses
/// on the validation part. Nothing when the plan has no numbers of rounds for it.
Result<std::vector<Candidate>> rankboost_candidates(const FoldData& data, const Plan& plan,
                                                    evaluation::Mode mode);

/// What an order that learned nothing is worth: all documents of a query tied, so as their file has them.
Candidate order_candidate(const FoldData& data, evaluation::Mode mode);

/// What became of a method of the table.
struct MethodResult {
  std::string choice;
  double validation = 0.0;         ///< NDCG@10 where the choice and the weights were made
  std::vector<double> fold_means;  ///< of the paper's measure
  std::vector<double> ndcg;        ///< mean over folds of NDCG@1 ... @10
};

struct SetResult {
  std::map<std::string, MethodResult> methods;
  std::vector<std::vector<std::vector<double>>> p;  ///< target x target x fold
  std::size_t fallbacks = 0;
};

/// The five folds of a set.
Result<std::vector<FoldData>> read_folds(const DataSet& set, const std::string& data);

/// Every method on the folds of a set.
///
/// in:     step_done - called after each number of rounds
/// errors: those of RankBoost
Result<SetResult> run_set(const DataSet& set, const std::vector<FoldData>& folds, const Plan& plan,
                          const std::function<void()>& step_done);

}  // namespace metafuse::experiments::calibrated
