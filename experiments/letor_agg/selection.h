#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/letor_agg/candidate.h"
#include "experiments/letor_agg/fold.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::letor_agg {

/// What validation parts chose: one candidate for both sets, and for each set when its training ends.
struct Ours {
  Candidate candidate;
  std::map<std::string, std::size_t> rounds;  ///< by set
  double value = -1.0;                        ///< the mean criterion over all folds
};

/// Chooses between candidates(options.size) by the mean over both sets of the criterion on validation parts
/// after each set's best number of rounds. Adds the table to the report.
///
/// errors: those of validation_curve()
Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, PaperReport& report);

/// The peer's configurations of the highest criterion on the validation parts of both sets, one for each way
/// of choosing rounds, which a name tells behind its comma; none for no peer. Adds the table to the report.
///
/// errors: those of peer_configurations() and peer_values()
Result<std::vector<std::string>> choose_peers(const std::vector<Fold>& folds,
                                              const evaluation::MeasureSet& measures,
                                              const ExperimentOptions& options, PaperReport& report);

}  // namespace metafuse::experiments::letor_agg
