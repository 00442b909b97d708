#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/engines/http/ready_access.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/fetched_list.h"

namespace metafuse::fetchers {

// Turns an engine's definition and an expanded query into HTTP requests: placeholders are filled in, and a
// page of results is mapped to pages of the engine.

inline constexpr std::string_view kHopHeader = "X-Metafuse-Hops";
inline constexpr int kMostHops = 2;

/// Which of the engine's pages together make one page of `depth` results: the wanted window.
struct PagePlan {
  int first = 1;
  int count = 1;    ///< at most
  int skipped = 0;  ///< results before the window on the page it begins in, or, by cursor, on all pages
  bool is_sequential = false;  ///< the next page is requested only if the previous ones were not enough
  bool is_beyond_end = false;  ///< the engine has no such page
};
/// in:     seen_size - the largest page that the engine is known to have given; 0: none. Counts if the
///         definition does not say how many results a page has.
PagePlan plan_pages(const HttpAccess& access, const FetchOptions& options, int seen_size = 0);

/// A query "field:value", split at the first colon after a field's name.
struct FieldQuery {
  std::string field;  ///< empty when the query names none
  std::string value;
};
FieldQuery field_query(std::string_view query);

/// What earlier answers of the same search have found.
struct Found {
  std::string cursor;            ///< for the next page; empty for the first
  std::vector<std::string> ids;  ///< found by the previous step
  std::string vector{};          ///< of the query, if the engine needs one: "[0.25,-0.5]"
  bool is_address = false;       ///< the cursor is the next page's whole URL
};

/// The request for one page of the engine's results.
EngineRequest build_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                            const FetchOptions& options, int page, const Found& found = {});
/// The request of one of the lookup steps.
///
/// in:     step - less than access.steps.size()
EngineRequest build_step_request(const Engine& engine, const ReadyAccess& ready, std::string_view query,
                                 const FetchOptions& options, std::size_t step, const Found& found);
/// The request for the engine's description document.
EngineRequest build_description_request(const Engine& engine, const ReadyAccess& ready);

/// The searching client's own token: the header that the definition names, without "Bearer "; empty if there
/// is none.
std::string callers_token(const Authorization& auth, const FetchOptions& options);

/// The language that is asked for, as a tag: {locale}.
std::string request_language(const HttpAccess& access, const FetchOptions& options);
/// What {lang} stands for: the engine's own word for the language, else its first part.
std::string language_value(const HttpAccess& access, const FetchOptions& options);

/// The groups of `query_pattern` in a query, with the engine's own words for them; nullopt for a query that
/// the engine does not understand, and for engines without a pattern.
std::optional<std::vector<std::string>> query_groups(const HttpAccess& access, std::string_view query);

}  // namespace metafuse::fetchers
