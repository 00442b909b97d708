#include "service/list_keys.h"

#include <string_view>
#include <unordered_set>

#include "core/url.h"

namespace metafuse::service {

ListKeys list_keys(const RankedList& list, int depth, KeyMemory& memory) {
  ListKeys out;
  std::unordered_set<std::string_view> seen;
  const std::size_t limit = depth > 0 ? static_cast<std::size_t>(depth) : list.hits.size();
  for (std::size_t i = 0; i < list.hits.size() && out.keys.size() < limit; ++i) {
    const auto [at, is_new] = memory.try_emplace(list.hits[i].url);
    if (is_new)
      if (auto key = canonical_url_key(list.hits[i].url)) at->second = std::move(*key);
    if (at->second.empty() || !seen.insert(at->second).second) continue;
    out.keys.push_back(at->second);
    out.hits.push_back(i);
  }
  return out;
}

}  // namespace metafuse::service
