#pragma once

#include <string>
#include <string_view>

#include "service/answers/view.h"
#include "service/config/snapshot.h"
#include "service/requests/search_parameters.h"
#include "service/search/search_answer.h"
#include "service/search/shown_results.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// A view with what every page shows: title, query, and the choice of domains.
View page_view(const Snapshot* snapshot, std::string_view title, std::string_view query,
               std::string_view domain);

/// What orders a domain's results, for people.
std::string fused_by(const LoadedDomain& domain);

std::string home_page(const Snapshot& snapshot);

/// What a page of results needs beside the answer.
struct PageRequest {
  const SearchParameters* parameters = nullptr;
  const ShownResults* shown = nullptr;
  const SitePreferences* preferences = nullptr;
  std::string target;  ///< the request's query string without pageno, for the links to other pages
};

std::string results_page(const Snapshot& snapshot, const SearchAnswer& answer, const PageRequest& request);

std::string error_page(int status, std::string_view text);

}  // namespace metafuse::service
