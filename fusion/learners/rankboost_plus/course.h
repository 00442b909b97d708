#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fusion/learners/rankboost_plus/boost.h"

namespace metafuse::fusion::rankboost_plus {

// A slope this small is no gain; a criterion this near the best (as a share of it) ties with it.
inline constexpr double kNoGain = 1e-12;
inline constexpr double kTieShare = 1e-9;
// Weights below this are the floor of the distribution: the share of pairs ordered so is zero.
inline constexpr double kZeroShare = 1e-250;
// A share that is one less two others may be this far from zero by rounding alone.
inline constexpr double kCloseToZero = 1e-9;

/// The first in search order whose criterion is within kTieShare of the best; -1 when all are negative.
std::ptrdiff_t first_best(const std::vector<double>& criteria);

/// What all four forms share: scores, losses, bound and the reasons to stop.
class Course {
 public:
  Course(const PairRows& pairs, const BoostOptions& options, const RoundWatch& watch)
      : pairs_(pairs),
        options_(options),
        watch_(watch),
        epsilon_(0.5 / static_cast<double>(pairs.pair_count)),
        scores_(pairs.document_count, 0.0) {}

  double epsilon() const { return epsilon_; }
  bool is_over() const { return !run_.stop_reason.empty(); }
  void stop(std::string reason) { run_.stop_reason = std::move(reason); }
  BoostRun& run() { return run_; }

  /// Closes a round. in: e2 - negative when it was not measured
  void close(BoostRound round, const std::vector<std::uint8_t>& fires, double e2);

 private:
  const PairRows& pairs_;
  const BoostOptions& options_;
  const RoundWatch& watch_;
  double epsilon_;
  std::vector<double> scores_;
  double sum_of_squares_ = 0.0;
  BoostRun run_;
};

}  // namespace metafuse::fusion::rankboost_plus
