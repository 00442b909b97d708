#pragma once

#include <vector>

#include "fusion/learners/common/learner.h"

namespace metafuse::fusion::baselines {

/// The baselines of Freund et al. 2003, sec. 6.2.3 and 6.2.6, as learners.
std::vector<Learner> learners();

}  // namespace metafuse::fusion::baselines
