#pragma once

#include <cstddef>
#include <string>

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/options.h"

namespace metafuse::fusion::rankboost {

/// RankBoost's options (Freund et al. 2003, sec. 3.2 and 4).
struct Options {
  enum class Criterion { z, r };  ///< weak learner 2: smallest Z; weak learner 3: largest |r|
  enum class QDefault { zero, one, learn };
  struct WeakLearner {
    Criterion criterion = Criterion::r;
    bool is_cumulative = true;  ///< `.cum`: cumulative weights stay positive

    friend bool operator==(const WeakLearner&, const WeakLearner&) = default;
  };

  std::size_t rounds = 100;
  WeakLearner weak_learner;
  bool is_numeric = false;  ///< alpha minimises Z numerically
  bool is_value = false;    ///< h = f itself, scaled to [0, 1]
  QDefault q_default = QDefault::zero;
  ThresholdOptions thresholds;
  std::string thresholds_file;  ///< the file of given thresholds; empty: none
  /// Training ends if the ranking loss fell by at most one percent over this many rounds; 0: never.
  std::size_t flat_rounds = 0;

  bool may_be_zero() const { return q_default != QDefault::one; }
  bool may_be_one() const { return q_default != QDefault::zero; }
};

void declare_options(OptionTable& table, Options& options);

/// errors: usage for options that cannot be combined
Result<void> check_options(const Options& options);

}  // namespace metafuse::fusion::rankboost
