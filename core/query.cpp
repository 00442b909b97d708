#include "core/query.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/keyed_hash.h"
#include "core/url.h"

namespace metafuse {

void keep_best_of_each(RankedList& list, int depth, const TrackingParameters& tracking) {
  std::vector<Hit>& hits = list.hits;
  std::vector<std::size_t> hashes;  // of the keys of the hits kept so far
  hashes.reserve(hits.size());
  const std::size_t most = depth > 0 ? static_cast<std::size_t>(depth) : hits.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < hits.size() && kept < most; ++i) {
    if (hits[i].key.empty()) {
      auto key = canonical_url_key(hits[i].url, tracking);
      if (!key) continue;
      hits[i].key = std::move(*key);
    }
    const std::size_t hash = KeyedHash()(hits[i].key);
    const auto begin = hashes.begin();
    auto same = std::find(begin, hashes.end(), hash);
    while (same != hashes.end() && hits[static_cast<std::size_t>(same - begin)].key != hits[i].key)
      same = std::find(same + 1, hashes.end(), hash);
    if (same != hashes.end()) continue;
    hashes.push_back(hash);
    hits[i].url = without_tracking(std::move(hits[i].url), tracking);
    if (kept != i) hits[kept] = std::move(hits[i]);
    ++kept;
  }
  hits.resize(kept);
}

}  // namespace metafuse
