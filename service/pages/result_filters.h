#pragma once

// The filters of a results page, which narrow or widen the search. Each is a link, so that it works without
// JavaScript and can be bookmarked.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/message.h"
#include "service/pages/texts.h"
#include "service/search/search_answer.h"
#include "service/search/search_requests.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// Links to other pages of the same search: the request's fields with one of them changed.
class SearchLinks {
 public:
  explicit SearchLinks(const Fields& fields);

  /// The link with one field changed. Any change but that of `pageno` also removes the page number.
  ///
  /// in: value - empty removes the field
  std::string with(std::string_view name, std::string_view value) const;
  std::string page(int number) const;
  std::string here() const;

 private:
  Fields fields_;
};

/// A link to a changed search.
struct FilterLink {
  std::string text;
  std::string url;
  std::size_t count = 0;  ///< results of the answer that would remain; 0 if not counted
};

struct FilterGroup {
  std::string name;
  std::vector<FilterLink> links;
};

/// The conditions and choices that narrow the search now, each with the link that removes it.
std::vector<FilterLink> conditions_to_take_away(const SearchAnswer& answer,
                                                const SearchParameters& parameters, const SearchLinks& links,
                                                const Texts& texts);

/// The results that a reader sees on all pages together.
struct VisibleResults {
  const SearchAnswer& answer;
  std::vector<std::size_t> positions;  ///< as of seen_positions()
};

/// Narrower searches that the seen results suggest: by engine (by list if there is only one engine), site,
/// time and file type. A group that would change nothing is left out, and so is a site that cannot be typed.
///
/// cost: O(results x lists)
std::vector<FilterGroup> offered_filters(const VisibleResults& seen, const SearchParameters& parameters,
                                         const SearchLinks& links, const Texts& texts, UnixTime now);

}  // namespace metafuse::service
