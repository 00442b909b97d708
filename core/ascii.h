#pragma once

#include <string>
#include <string_view>

namespace metafuse {

// Lower-casing of ASCII letters only, independent of the machine's locale: names of hosts, headers and
// languages are compared this way.

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

}  // namespace metafuse
