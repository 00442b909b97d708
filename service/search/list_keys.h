#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ranked_list.h"

namespace metafuse::service {

/// The pages of one list, best first, each once: position 0 has rank 1. What recordings keep and what
/// searches fuse, so that ranks mean the same in both.
struct ListKeys {
  std::vector<std::string> keys;  ///< canonical URL keys
  std::vector<std::size_t> hits;  ///< where each stands in the list
};

/// Keys of URLs seen before in the same search, of hits that came without one.
using KeyMemory = std::unordered_map<std::string, std::string>;

/// in:  depth - how far down the list counts, 0 for all of it
/// out: hits whose URL is no URL are left out and do not count as ranks
ListKeys list_keys(const RankedList& list, int depth, KeyMemory& memory);

}  // namespace metafuse::service
