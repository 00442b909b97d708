#pragma once

#include <array>
#include <vector>

#include "core/result.h"
#include "experiments/rankboost_plus/tasks.h"
#include "fusion/learners/rankboost_plus/boost.h"

namespace metafuse::experiments::rankboost_plus {

enum Metric { kR1, kR2, kNdcg3, kNdcg5, kNdcg7, kMap, kMetrics };
constexpr std::array<const char*, kMetrics> kMetricNames = {"R1", "R2", "NDCG@3", "NDCG@5", "NDCG@7", "MAP"};
inline bool is_cost(std::size_t metric) {
  return metric <= kR2;
}

using Metrics = std::array<double, kMetrics>;

/// The three algorithms that the paper compares.
constexpr std::array<fusion::rankboost_plus::Form, 3> kForms = {fusion::rankboost_plus::Form::discrete,
                                                                fusion::rankboost_plus::Form::continuous,
                                                                fusion::rankboost_plus::Form::plus_efficient};

struct TrialOptions {
  std::size_t rounds = 100;
  bool has_map = false;         ///< measure MAP, and choose the round for NDCG by it
  bool has_all_losses = false;  ///< E2 of Rb-d and Rb-c
  std::uint64_t seed = 1;
};

/// One training, seen round by round; entry 0 is before any round, and a run that ends early stays as it is.
struct Trial {
  Metrics chosen{};  ///< on test, each after the round that was best for it on validation
  std::vector<Metrics> test;
  std::vector<double> e1, e2;  ///< on train
  bool is_halted = false;      ///< Rb-d's weight was undefined
  std::size_t rounds = 0;
};

/// errors: bad_data when a part has no crucial pair
Result<Trial> run_trial(const Split& split, fusion::rankboost_plus::Form form, const TrialOptions& options);

}  // namespace metafuse::experiments::rankboost_plus
