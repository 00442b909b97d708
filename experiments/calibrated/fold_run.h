#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "experiments/calibrated/fold_data.h"
#include "fusion/adaboost_mh/pool.h"

namespace metafuse::experiments::calibrated {

struct Plan {
  std::vector<fusion::adaboost_mh::BaseSetting> settings;
  std::vector<std::size_t> round_counts;
  std::vector<std::size_t> rankboost_rounds;
  std::size_t process_points = 500;
  bool stops_early = true;  ///< when two larger numbers of rounds in a row helped nothing on validation
  unsigned threads = 1;
  std::uint64_t seed = 1;
};

/// A method on one fold: what validation chose, and its scores of the test documents.
struct MethodRun {
  std::string choice;  ///< "T 50, c 100"
  double validation = -1.0;
  std::vector<double> scores;
};

struct FoldRun {
  std::map<std::string, MethodRun> methods;  ///< by the names of the rows
  /// Sec. 7.2: the five CPC scores of the test documents, trees of 30 leaves (or the nearest), at the chosen
  /// T.
  std::array<std::vector<double>, 5> sigmoid_scores;
  std::size_t fallbacks = 0;
  std::size_t largest_rounds = 0;  ///< how far boosting went
};

/// Trains and chooses everything on one fold. cost: settings x rounds, and settings x calibrations a number
/// of rounds
Result<FoldRun> run_fold(const FoldData& data, const Plan& plan);

}  // namespace metafuse::experiments::calibrated
