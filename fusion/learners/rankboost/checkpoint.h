#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/rankboost/trainer.h"

namespace metafuse::fusion::rankboost {

/// An interrupted training run. The file is
/// {"format":"metafuse-checkpoint","version":2,"learner":"rankboost","options":{...},
///  "data":{part: digest...},"rounds":[[feature, threshold, q_default, alpha, r, right, wrong]...]}
/// Thresholds are numbered as in Candidate. The distribution is not stored, since repeating the same rounds
/// reproduces it bit for bit. The options do not include the number of rounds, so that a run can be continued
/// beyond its original number.
struct Checkpoint {
  JsonObject options;
  std::vector<std::pair<std::string, std::string>> data;  ///< fusion::fingerprint
  std::vector<std::pair<Candidate, double>> rounds;       ///< with alpha
};

std::string checkpoint_text(const Checkpoint& checkpoint);

/// errors: no_input; bad_data when the file is no checkpoint, is damaged, or is of a later version
Result<Checkpoint> read_checkpoint(const std::string& path);

/// errors: bad_data that names the options or the parts of the data that differ
Result<void> check_same_run(const std::string& path, const Checkpoint& found, const Checkpoint& wanted);

}  // namespace metafuse::fusion::rankboost
