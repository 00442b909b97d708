#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// The learner used if none is named.
inline constexpr std::string_view kDefaultLearner = "auto";

/// All learners, in the order of the documentation.
std::span<const Learner> learners();

/// The learner of that name, or nullptr.
const Learner* find_learner(std::string_view name);

/// parse_model() and read_model() with the readers of all learners.
Result<Model> parse_model(std::string_view text, std::string_view name);
Result<Model> read_model(const std::string& path);

}  // namespace metafuse::fusion
