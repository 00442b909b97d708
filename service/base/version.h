#pragma once

#include <string_view>

namespace metafuse::service {

/// "0.1.0", from the build.
std::string_view version();

}  // namespace metafuse::service
