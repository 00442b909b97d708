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

/// A table of learners, which a program passes to what trains, in the order of the documentation.
using Learners = std::span<const Learner>;

/// The learners of the product. The laboratory's table (lab/registry.h) has these and more.
Learners product_learners();

/// The learner of that name, or nullptr.
const Learner* find_learner(std::string_view name, Learners table = product_learners());

/// The learner that a user named.
///
/// errors: usage: the table does not have the name. The error suggests similar names, or the laboratory's
///         program if the learner is there
Result<const Learner*> learner_named(std::string_view name, Learners table = product_learners());

/// The names of the learners that only the laboratory has.
std::span<const std::string_view> laboratory_learners();

/// parse_model() and read_model() for models of every form. A body is read by its form alone, whichever
/// learner wrote it.
Result<Model> parse_model(std::string_view text, std::string_view name);
Result<Model> read_model(const std::string& path);

}  // namespace metafuse::fusion
