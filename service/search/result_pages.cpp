#include "service/search/result_pages.h"

#include <algorithm>
#include <numeric>

#include "core/contract.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

/// How many of some results are in none, one, two ... of the answer's first windows.
std::vector<std::size_t> in_first_windows(const SearchAnswer& answer,
                                          std::span<const std::size_t> positions) {
  std::vector<std::size_t> out(static_cast<std::size_t>(answer.windows) + 1, 0);
  for (const std::size_t at : positions) ++out[answer.results[at].window + 1];
  std::partial_sum(out.begin(), out.end(), out.begin());
  return out;
}

std::vector<std::size_t> all_of(const SearchAnswer& answer) {
  std::vector<std::size_t> out(answer.results.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// The range of at most `limit` results that follows another one, among so many.
ResultPages::Range following(ResultPages::Range range, std::size_t limit, std::size_t most) {
  return {range.end, std::max(range.end, std::min(range.end + limit, most))};
}

}  // namespace

ResultPages::ResultPages(const SearchAnswer& answer, std::span<const std::size_t> seen, std::size_t limit)
    : answer_(answer),
      limit_(limit),
      found_(in_first_windows(answer, all_of(answer))),
      seen_(in_first_windows(answer, seen)) {
  require(limit > 0, "a page has room for some result");
}

/// Whether a page that begins with this result asks for more than so many windows: it is not full, and either
/// looks beyond the lists' depth, or lost results to the conditions of its query, or would be empty.
bool ResultPages::goes_on(std::size_t windows, std::size_t page, std::size_t begin) const {
  const std::size_t wanted = page * limit_;
  if (seen_[windows] >= wanted) return false;
  const std::size_t unseen = found_[windows] - seen_[windows];
  const bool looks_further = wanted + unseen > static_cast<std::size_t>(answer_.depth);
  const bool was_narrowed =
      answer_.left_out > 0 && answer_.narrowed_from < windows && windows < kMostNarrowedWindows;
  return looks_further || was_narrowed || seen_[windows] <= begin;
}

std::size_t ResultPages::windows_for(std::size_t page, std::size_t begin) const {
  std::size_t windows = 1;
  while (windows + 1 < seen_.size() && goes_on(windows, page, begin)) ++windows;
  return windows;
}

ResultPages::Range ResultPages::range_of(std::size_t page, std::span<const std::size_t> some) const {
  const auto wanted = in_first_windows(answer_, some);
  Range seen, out;
  for (std::size_t i = 1; i <= page; ++i) {
    const std::size_t windows = windows_for(i, seen.end);
    seen = following(seen, limit_, seen_[windows]);
    out = following(out, limit_, wanted[windows]);
  }
  return out;
}

ResultPages::Range ResultPages::range_of(std::size_t page) const {
  Range seen;
  for (std::size_t i = 1; i <= page; ++i) seen = following(seen, limit_, seen_[windows_for(i, seen.end)]);
  return seen;
}

std::size_t ResultPages::count() const {
  std::size_t pages = 0;
  for (Range seen; seen.end < seen_.back(); ++pages) {
    seen = following(seen, limit_, seen_[windows_for(pages + 1, seen.end)]);
    if (seen.begin == seen.end) break;
  }
  return pages;
}

std::size_t ResultPages::seen_by_first() const {
  return seen_[windows_for(1, 0)];
}

bool ResultPages::needs_more(std::size_t page) const {
  const std::size_t begin = range_of(page).begin;
  const std::size_t windows = windows_for(page, begin);
  return windows + 1 == seen_.size() && goes_on(windows, page, begin);
}

bool is_beyond_all(const SearchAnswer& answer, int depth, std::size_t end) {
  return end > static_cast<std::size_t>(kMostWindows * depth) * answer.lists.size() + kMostPerPage;
}

bool wants_next_window(const LoadedDomain& domain, const SearchRequest& request, const SearchAnswer& answer,
                       std::span<const std::size_t> seen) {
  const int depth = domain.domain.depth;
  if (request.depth != 0 || request.results == 0 || is_beyond_all(answer, depth, request.results))
    return false;
  if (!may_hold_more(answer, depth)) return false;
  const auto page = static_cast<std::size_t>(request.page);
  return ResultPages(answer, seen, std::max<std::size_t>(1, request.results / page)).needs_more(page);
}

}  // namespace metafuse::service
