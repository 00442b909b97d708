#include "service/search/list_windows.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/contract.h"

namespace metafuse::service {

bool may_hold_more(const SearchAnswer& answer, int depth) {
  if (answer.windows >= kMostWindows) return false;
  const auto full = static_cast<std::size_t>((2 * answer.windows - 1) * depth);  // twice the size
  return std::any_of(answer.lists.begin(), answer.lists.end(), [&](const fetchers::FetchedList& list) {
    return !list.has_failed() && 2 * list.list.hits.size() > full;
  });
}

bool wants_next_window(const LoadedDomain& domain, const SearchRequest& request, const SearchAnswer& answer,
                       std::size_t blocked) {
  const int depth = domain.domain.depth;
  const std::size_t wanted = request.results + blocked;
  return request.depth == 0 && request.results > 0 && wanted > static_cast<std::size_t>(depth) &&
         answer.results.size() < wanted && may_hold_more(answer, depth);
}

std::vector<fetchers::FetchedList> joined_lists(const std::vector<fetchers::FetchedList>& so_far,
                                                std::vector<fetchers::FetchedList> next) {
  require(so_far.size() == next.size(), "windows of one search have the same lists");
  std::vector<fetchers::FetchedList> out = so_far;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].has_failed()) continue;  // without its first window, a list's ranks are not known
    out[i].failure = next[i].failure;
    out[i].message = std::move(next[i].message);
    out[i].elapsed = next[i].elapsed;
    auto& hits = next[i].list.hits;
    out[i].list.hits.insert(out[i].list.hits.end(), std::make_move_iterator(hits.begin()),
                            std::make_move_iterator(hits.end()));
  }
  return out;
}

std::vector<std::uint32_t> mask_later_windows(fusion::QueryInstances& instances, int depth) {
  require(depth > 0, "lists have a depth");
  const auto size = static_cast<std::uint32_t>(depth);
  std::vector<std::uint32_t> windows(instances.documents.size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::uint32_t* ranks = instances.ranks.data() + i * instances.lists;
    std::uint32_t best = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t j = 0; j < instances.lists; ++j)
      if (ranks[j] > 0) best = std::min(best, ranks[j]);
    windows[i] = (best - 1) / size;
    const std::uint64_t last = (std::uint64_t{windows[i]} + 1) * size;
    for (std::size_t j = 0; j < instances.lists; ++j)
      if (ranks[j] > last) ranks[j] = 0;
  }
  return windows;
}

void order_by_window(const std::vector<std::uint32_t>& windows, std::vector<std::uint32_t>& order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return windows[a] < windows[b]; });
}

}  // namespace metafuse::service
