#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::rankboost {

/// RankBoost's options (paper 000, sec. 3.2 and 4).
struct Options {
  enum class Criterion { z, r };  ///< weak learner 2: least Z; weak learner 3: largest |r|
  enum class QDefault { zero, one, learn };

  std::size_t rounds = 100;
  Criterion criterion = Criterion::r;
  bool is_cumulative = true;  ///< `.cum`: cumulative weights stay positive
  bool is_numeric = false;    ///< alpha minimises Z numerically
  bool is_value = false;      ///< h = f itself, scaled to [0, 1]
  QDefault q_default = QDefault::zero;
  ThresholdOptions thresholds;

  bool may_be_zero() const { return q_default != QDefault::one; }
  bool may_be_one() const { return q_default != QDefault::zero; }
};

/// The rows that --help and the docs print.
std::vector<LearnerOption> option_rows();

/// errors: usage naming the option and its values
Result<Options> parse_options(const std::map<std::string, std::string>& given);

/// The options as they stand in a model's "training".
JsonObject options_json(const Options& options);

}  // namespace metafuse::fusion::rankboost
