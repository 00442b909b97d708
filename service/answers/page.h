#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/requests/preferences.h"

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

/// One repetition of a part. It is not a std::pair because View is incomplete inside View, and clang requires
/// a pair's members to be complete types.
struct ViewPart {
  std::string name;
  View view;
};

inline View& View::add(std::string_view name) {
  parts.push_back({std::string(name), View()});
  return parts.back().view;
}

/// Renders a page of service/pages/ as HTML, each value escaped for the place where it is inserted.
///
/// in: page - "search", "error", ...; requires that the page exists
std::string render_page(std::string_view page, const View& view);

/// An embedded file of service/pages/, or an empty view.
std::string_view page_file(std::string_view name);

/// A file of service/pages/. The files are compiled in, so that the program needs no other files.
struct PageFile {
  std::string_view name;
  std::string_view content;
};

/// All of them; the body is written by cmake/EmbedFiles.cmake.
std::span<const PageFile> page_files();

/// A view with what every page shows: title, query, the reader's theme, and the domain that the search
/// box searches.
///
/// in: exchange - nullptr for a page that knows nothing of its reader
View page_view(const Exchange* exchange, std::string_view title, std::string_view query,
               std::string_view domain);

/// One tab for each domain that the reader may use, where there are several.
///
/// in: query - what the other tabs search for; empty: they lead to their first pages
void add_tabs(const Exchange& exchange, const LoadedDomain& here, std::string_view query, View& page);

/// The form of a domain's slots, where it has several; `slots` fill it.
void add_slots_form(const LoadedDomain& domain, const BaseQuery& slots, View& page);

/// What orders a domain's results, as text for people.
std::string fused_by(const LoadedDomain& domain);

/// in: domain - whose description and slots are shown; nullptr: the reader may use none
std::string home_page(const Exchange& exchange, const LoadedDomain* domain);

/// What the preferences page shows beside the preferences.
struct PreferencesRequest {
  const Preferences* offered = nullptr;  ///< preferences from a link, not saved yet
  std::string site;                      ///< a site that the reader may raise, lower or block; empty for none
  std::string back;                      ///< link back to the results page where the site was chosen
  bool is_saved = false;
};

/// The browser's preferences as a form.
std::string preferences_page(const Exchange& exchange, const Preferences& preferences,
                             const PreferencesRequest& request);

std::string error_page(int status, std::string_view text);

}  // namespace metafuse::service
