#pragma once

#include <string>
#include <string_view>

#include "service/search_parameters.h"
#include "service/search_pipeline.h"
#include "service/view.h"

namespace metafuse::service {

/// A view with what every page shows: title, query, and the choice of domains.
View page_view(const Snapshot* snapshot, std::string_view title, std::string_view query,
               std::string_view domain);

std::string home_page(const Snapshot& snapshot);

/// The results of a search; `target` is the request's query string without pageno, for the links to other
/// pages.
std::string results_page(const Snapshot& snapshot, const SearchAnswer& answer,
                         const SearchParameters& parameters, const std::string& target);

std::string error_page(int status, std::string_view text);

}  // namespace metafuse::service
