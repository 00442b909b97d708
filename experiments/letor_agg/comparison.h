#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/letor_agg/fold.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::letor_agg {

/// What every method reached on the test parts.
struct Outcome {
  std::vector<std::string> methods;                   ///< the first is ours
  std::map<std::string, std::vector<Values>> by_set;  ///< a set: one Values a method
};

/// Means of every method, and ours less each other one with 95 % bootstrap interval and p of the paired
/// randomisation test, for each set, for the queries of both together, and for each measure. Adds to the
/// report's text, and its JSON under `field`.
void describe(const Outcome& outcome, const std::string& field, std::uint64_t seed, PaperReport& report);

}  // namespace metafuse::experiments::letor_agg
