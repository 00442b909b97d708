#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/rankboost/trainer.h"

namespace metafuse::fusion::rankboost {

/// A training run as far as it came, as a file:
/// {"format":"metafuse-checkpoint","version":2,"learner":"rankboost","options":{...},"data":{part:
/// digest...},
///  "rounds":[[feature, threshold, q_default, alpha, r, right, wrong]...]}
/// Thresholds count as candidates do. Taking the same rounds again leads to the same bits, so that nothing of
/// the distribution is kept. The number of rounds asked for is no part of the options here, so that a run
/// may go on further.
struct Checkpoint {
  JsonObject options;
  std::vector<std::pair<std::string, std::string>> data;  ///< fusion::fingerprint
  std::vector<std::pair<Candidate, double>> rounds;       ///< with alpha
};

std::string checkpoint_text(const Checkpoint& checkpoint);

/// errors: no_input; bad_data when it is no checkpoint, damaged, of a later version
Result<Checkpoint> read_checkpoint(const std::string& path);

/// errors: bad_data that says which options or which part of the data differ
Result<void> check_same_run(const std::string& path, const Checkpoint& found, const Checkpoint& wanted);

}  // namespace metafuse::fusion::rankboost
