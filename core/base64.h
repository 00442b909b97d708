#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse {

/// RFC 4648's base64, with padding.
std::string base64_encoded(std::string_view bytes);
/// Nothing for what is no base64 with padding.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace metafuse
