#include "service/search/search_answer.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/url.h"

namespace metafuse::service {
namespace {

const std::string& key_of_hit(const std::string& url, KeyMemory& memory) {
  const auto [at, is_new] = memory.try_emplace(url);
  if (is_new)
    if (auto key = canonical_url_key(url)) at->second = std::move(*key);
  return at->second;
}

}  // namespace

ListKeys list_keys(const RankedList& list, int depth, KeyMemory& memory) {
  ListKeys out;
  std::unordered_set<std::string_view> seen;
  const std::size_t limit = depth > 0 ? static_cast<std::size_t>(depth) : list.hits.size();
  for (std::size_t i = 0; i < list.hits.size() && out.keys.size() < limit; ++i) {
    const std::string& key =
        list.hits[i].key.empty() ? key_of_hit(list.hits[i].url, memory) : list.hits[i].key;
    if (key.empty() || !seen.insert(key).second) continue;
    out.keys.push_back(key);
    out.hits.push_back(i);
  }
  return out;
}

bool SearchAnswer::has_failures() const {
  return std::any_of(lists.begin(), lists.end(),
                     [](const fetchers::FetchedList& list) { return list.has_failed(); });
}

}  // namespace metafuse::service
