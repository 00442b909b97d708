#pragma once

// The fusion methods, learners and measures that exist.

#include <string>
#include <vector>

#include <metafuse/error.h>

namespace metafuse {
inline namespace library_0 {

struct Method {
  std::string name;
  std::string meaning;
};

/// All fusion methods that need no model.
inline std::vector<Method> methods() {
  std::vector<Method> out;
  for (std::size_t i = 0; i < metafuse_method_count(); ++i)
    out.push_back({metafuse_method_name(i), metafuse_method_meaning(i)});
  return out;
}

/// The table as JSON, with meanings, sources and options.
/// in: table - "methods", "learners" or "measures"
inline std::string describe(const std::string& table) {
  return detail::text_of([&](char** json) { return metafuse_describe(table.c_str(), json); });
}

inline std::string version() {
  return metafuse_version();
}

}  // namespace library_0
}  // namespace metafuse
