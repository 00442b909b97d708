#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/requests/search_requests.h"
#include "service/search/search_answer.h"
#include "service/search/shown_results.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

struct ViewPart;

/// What fills a page: values by name, and parts that repeat.
struct View {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<ViewPart> parts;

  View& set(std::string_view name, std::string_view value) {
    values.emplace_back(name, value);
    return *this;
  }
  /// The view of one more repetition of a part. Valid until the next call.
  View& add(std::string_view name);
};

/// One repetition of a part. (A pair with a view cannot stand in a view: clang wants pairs'
/// members complete.)
struct ViewPart {
  std::string name;
  View view;
};

inline View& View::add(std::string_view name) {
  parts.push_back({std::string(name), View()});
  return parts.back().view;
}

/// The HTML of a page in service/pages/, every value escaped for the place where it stands.
///
/// in:  page - "search", "error", ...; a page that does not exist is our bug
std::string render_page(std::string_view page, const View& view);

/// An embedded file of service/pages/, or an empty view.
std::string_view page_file(std::string_view name);

/// A file of service/pages/, compiled in so that the program needs nothing beside itself.
struct PageFile {
  std::string_view name;
  std::string_view content;
};

/// All of them; the body is written by cmake/EmbedFiles.cmake.
std::span<const PageFile> page_files();

/// A view with what every page shows: title, query, and the choice among the domains that its reader may use.
///
/// in: exchange - nullptr for a page without that choice
View page_view(const Exchange* exchange, std::string_view title, std::string_view query,
               std::string_view domain);

/// What orders a domain's results, for people.
std::string fused_by(const LoadedDomain& domain);

std::string home_page(const Exchange& exchange);

/// What a page of results needs beside the answer.
struct PageRequest {
  const SearchParameters* parameters = nullptr;
  const ShownResults* shown = nullptr;
  const SitePreferences* preferences = nullptr;
  std::string target;  ///< the request's query string without pageno, for the links to other pages
};

std::string results_page(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request);

std::string error_page(int status, std::string_view text);

}  // namespace metafuse::service
