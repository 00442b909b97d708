#pragma once

#include <array>
#include <string>
#include <vector>

#include "experiments/calibrated/fold_data.h"
#include "fusion/learners/adaboost_mh/pool.h"

namespace metafuse::experiments::calibrated {

struct Plan {
  std::vector<fusion::adaboost_mh::BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::size_t> rankboost_rounds;
  std::size_t process_points = 500;
  bool stops_early = true;  ///< when two larger numbers of rounds in a row helped no method on validation
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

/// A method at one setting of what validation chooses, on one fold.
struct Candidate {
  std::string method;                       ///< the name of a row
  std::string choice;                       ///< "T 50, c 100"
  double validation = 0.0;                  ///< NDCG@10
  std::vector<std::vector<double>> values;  ///< what the LETOR tools print of the test queries: queries x 11
};

/// What the LETOR tools print, one row a query: NDCG@1 ... @10, MeanNDCG. Equal scores stand in the files'
/// order.
std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             evaluation::Mode mode);

/// Boosts and calibrates on one fold, a number of rounds after the other. Each setting draws its own fifth of
/// the training documents to be calibrated on.
class FoldRunner {
 public:
  /// in: stream - picks the draws, another for each fold
  FoldRunner(const FoldData& data, const Plan& plan, evaluation::Mode mode, std::uint64_t stream);
  FoldRunner(const FoldRunner&) = delete;
  FoldRunner& operator=(const FoldRunner&) = delete;

  /// Goes on to so many rounds. cost: settings x rounds, and settings x calibrations
  std::vector<Candidate> run_to(std::size_t rounds);

  /// Sec. 7.2: the five CPC scores of the test documents after the last rounds, of trees with about 30
  /// leaves.
  const std::array<std::vector<double>, 5>& sigmoid_scores() const { return sigmoid_scores_; }
  /// Calibrations so far that had constant votes to fit.
  std::size_t fallbacks() const { return fallbacks_; }

 private:
  fusion::adaboost_mh::Judged judged(const fusion::adaboost_mh::GradedDocuments& documents) const;
  void boost_to(std::size_t rounds);
  void vote(std::size_t rounds);
  void add_plain(std::size_t rounds, std::vector<Candidate>& candidates) const;
  void add_ensembles(const fusion::adaboost_mh::Pool& pool, fusion::adaboost_mh::PoolPart part,
                     const std::string& name, std::vector<Candidate>& candidates) const;
  void keep_sigmoids(const fusion::adaboost_mh::Pool& pool);

  const FoldData& data_;
  const Plan& plan_;
  evaluation::Mode mode_;
  fusion::CodedFeatures coded_;
  fusion::adaboost_mh::CutTable table_;
  std::vector<double> gains_;
  fusion::adaboost_mh::CodedRows training_rows_;
  std::vector<fusion::adaboost_mh::CalibrationSplit> splits_;  // one a setting
  std::vector<fusion::adaboost_mh::CodedRows> calibration_rows_;
  fusion::adaboost_mh::CodedRows validation_rows_;
  fusion::adaboost_mh::CodedRows test_rows_;
  std::vector<fusion::adaboost_mh::Source> sources_;
  std::vector<std::vector<double>> calibration_votes_;
  std::vector<std::vector<double>> validation_votes_;
  std::vector<std::vector<double>> test_votes_;
  std::array<std::vector<double>, 5> sigmoid_scores_;
  std::size_t fallbacks_ = 0;
};

/// RankBoost on the whole training part, as the published one was, a candidate for each number of rounds.
Result<std::vector<Candidate>> rankboost_candidates(const FoldData& data, const Plan& plan,
                                                    evaluation::Mode mode);

/// What an order that learned nothing is worth: all documents of a query tied, so as their file has them.
Candidate order_candidate(const FoldData& data, evaluation::Mode mode);

}  // namespace metafuse::experiments::calibrated
