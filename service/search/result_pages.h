#pragma once

// How the pages of a search share its results. Every page is asked for alone, and asks the engines for as
// many windows of their lists as it needs; list_fusion.h says what windows are. Results of further windows
// come below the earlier ones, so the results of all pages together are one order, whatever page is asked
// for. A page that lies within the lists' depth is not worth another window, and may be shorter than its
// limit. Each page therefore begins where the one before it ended.

#include <cstddef>
#include <span>
#include <vector>

#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// The pages of a search, as far as one answer has their results.
class ResultPages {
 public:
  /// A part of the results seen.
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  /// in: answer - as its reader sees it; it must outlive this. seen - the positions of the results that the
  ///     reader may see, in any order. limit - most results on a page, at least 1
  ResultPages(const SearchAnswer& answer, std::span<const std::size_t> seen, std::size_t limit);

  /// What a page shows, counted from 1.
  Range range_of(std::size_t page) const;
  /// What a page shows of some of the results seen, if the reader chooses among those that it asks for.
  Range range_of(std::size_t page, std::span<const std::size_t> some) const;
  /// How many pages show something.
  std::size_t count() const;
  /// How many results are seen in the windows that the first page asks for: the same number on every page.
  std::size_t seen_by_first() const;
  /// Whether a page asks for one more window than the answer has, if there is one.
  bool needs_more(std::size_t page) const;

 private:
  bool goes_on(std::size_t windows, std::size_t page, std::size_t begin) const;
  std::size_t windows_for(std::size_t page, std::size_t begin) const;

  const SearchAnswer& answer_;
  std::size_t limit_;
  std::vector<std::size_t> found_, seen_;  ///< in so many of the first windows
};

/// Whether a page begins beyond what all windows of the answer's lists can hold. It shows nothing, so they
/// are not asked for.
///
/// in: end - how many results the pages up to this one have room for
bool is_beyond_all(const SearchAnswer& answer, int depth, std::size_t end);

/// Whether the next window should be asked for.
///
/// in: answer, seen - as for ResultPages
bool wants_next_window(const LoadedDomain& domain, const SearchRequest& request, const SearchAnswer& answer,
                       std::span<const std::size_t> seen);

}  // namespace metafuse::service
