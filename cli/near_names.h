#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace metafuse::cli {

/// Those of the known names that a person may have meant: the given one begins like it, or differs from it by
/// no more than a third of its letters. The nearest first.
std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known);

}  // namespace metafuse::cli
