#pragma once

#include <algorithm>
#include <string>

namespace metafuse {

// Names of hosts, headers and languages know ASCII's capitals only, whatever the machine's locale says.

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string ascii_lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return ascii_lower(c); });
  return text;
}

}  // namespace metafuse
