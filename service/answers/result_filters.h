#pragma once

// What a page of results offers to narrow or widen it. Everything is a link, so it works without JavaScript
// and can be bookmarked.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/message.h"
#include "service/requests/search_requests.h"
#include "service/search/search_answer.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// Links to other pages of the same search: the request's fields with one of them changed.
class SearchLinks {
 public:
  explicit SearchLinks(const Fields& fields);

  /// in: value - empty: without the field. The page's number goes with every change but its own.
  std::string with(std::string_view name, std::string_view value) const;
  std::string page(int number) const;
  std::string here() const;

 private:
  Fields fields_;
};

/// A link that changes a search.
struct FilterLink {
  std::string text;
  std::string url;
  std::size_t count = 0;  ///< results of the answer that would stay; 0: not counted
};

struct FilterGroup {
  std::string name;
  std::vector<FilterLink> links;
};

/// The conditions and choices that narrow a search now, each with the link that takes it away.
std::vector<FilterLink> conditions_to_take_away(const SearchAnswer& answer,
                                                const SearchParameters& parameters, const SearchLinks& links);

/// The narrower searches that the answer itself offers: by engine (by list where there is one engine only),
/// site, time and file type. A group that would change nothing is left out.
///
/// cost: O(results x lists)
std::vector<FilterGroup> offered_filters(const SearchAnswer& answer, const SearchParameters& parameters,
                                         const SearchLinks& links, UnixTime now);

}  // namespace metafuse::service
