#pragma once

#include <string_view>

#include "fusion/training/registry.h"

namespace metafuse::lab {

/// All learners: the product's, and those that only the laboratory has.
fusion::Learners learners();

/// The learner of that name, or nullptr.
const fusion::Learner* find_learner(std::string_view name);

}  // namespace metafuse::lab
