#pragma once

#include <string_view>

namespace metafuse {

/// True for a parameter of a URL that says where a visitor came from, or which session it is, and never which
/// page is shown: the names are compared without regard to case.
bool is_tracking_parameter(std::string_view name);

}  // namespace metafuse
