#pragma once

#include <string>
#include <string_view>

namespace metafuse {

// Names of hosts, headers and languages know ASCII's capitals only, whatever the machine's locale says.

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

}  // namespace metafuse
