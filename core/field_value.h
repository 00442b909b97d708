#pragma once

#include <algorithm>
#include <string_view>

namespace metafuse {

/// Whether a text may be the value of an HTTP header (RFC 9110, 5.5): without control characters other than
/// tabs, and so without a line end, after which the rest would be read as further headers or as a request.
inline bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

}  // namespace metafuse
