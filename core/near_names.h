#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace metafuse {

/// The known names that a person may have meant: those that begin like the given one, or differ from it by no
/// more than a third of its letters. The nearest first.
std::vector<std::string> near_names(std::string_view given, const std::vector<std::string>& known);

/// The end of an error about an unknown name: "; did you mean A or B", or "; there are A, B and C" when no
/// name is near. Nothing when there are no names.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

}  // namespace metafuse
