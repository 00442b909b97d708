#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace metafuse {

/// The known names that a person may have meant by `given`: those that begin with the same letters, or differ
/// from it by at most a third of their letters. The nearest come first.
std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known);

/// The end of an error about an unknown name: "; did you mean A or B", or "; there are A, B and C" when no
/// name is near. Empty when `known` is empty.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

}  // namespace metafuse
