#pragma once

#include <string>
#include <utility>
#include <vector>

namespace metafuse::fetchers {

/// Regular expressions on the host names of results (RE2), as SearXNG's `hostnames` has them.
struct HostnameRules {
  std::vector<std::pair<std::string, std::string>> replace;  ///< pattern, replacement
  std::vector<std::string> remove, high_priority, low_priority;

  bool empty() const {
    return replace.empty() && remove.empty() && high_priority.empty() && low_priority.empty();
  }
};

}  // namespace metafuse::fetchers
