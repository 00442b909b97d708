#pragma once

#include <string>

#include "service/base/signed_links.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/http/preferences.h"
#include "service/pages/page.h"
#include "service/search/search_answer.h"
#include "service/search/search_requests.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// What a results page needs beside the answer.
struct PageRequest {
  const SearchParameters* parameters = nullptr;
  const ShownResults* shown = nullptr;
  /// Of the request, for links to other pages of the same search, with fields instead of marks in q.
  const Fields* fields = nullptr;
  std::string_view typed = {};  ///< the query with its marks, if it has some
  UnixTime now = 0;
  PictureLinks pictures = {};
  FileLinks files = {};
  bool is_partial = false;  ///< more lists are on their way
};

/// The results page: how the query was understood, the filters, the results with their matches marked, why
/// each has its place, and links to further pages.
///
/// cost: O(results x lists), and one fusion per list for "without it"
std::string results_page(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request);

}  // namespace metafuse::service
