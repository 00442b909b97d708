#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/http/json_fields.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// The number of days in a time range: day, week, month or year; 0 for any other word.
int days_of_time_range(std::string_view range);

/// Reads the member "min_relevance" of a dialect, from 0 to 1.
void read_min_relevance(JsonFields& fields, SearchRequest& out);

/// Most queries that one request may ask at once, in dialects that take several.
inline constexpr std::size_t kMostQueriesAtOnce = 16;

/// Reads "query" and the list "queries" of a dialect, or a list in place of "query". The first query is the
/// request's text, the others are alternatives: all their lists are fused.
void read_queries(JsonFields& fields, const JsonObject& body, SearchRequest& out);

enum class Format { html, json, csv, rss };

/// A request in SearXNG's dialect: the search, and how to show it.
struct SearchParameters {
  SearchRequest search;
  Format format = Format::html;
  int limit = 30;
  bool wants_explanation = false;
  bool is_by_rrf = false;    ///< fuse by RRF even if the domain has a model
  bool is_verbatim = false;  ///< search what was typed, even if something else was surely meant
  /// If q has marks such as "!one": q without them, and the fields that ask for the same.
  Fields instead_of_marks{};
};

/// The values of the fields slot.NAME; empty ones are left out.
BaseQuery slots_in(const Fields& fields);

/// Whether the requested output format exists; SearXNG answers 403 if it does not.
bool has_known_format(const Fields& fields);

/// Reads q, domain, slot.NAME, format, pageno, limit, explain, language, time_range, safesearch, engines,
/// lists, all_lists, fusion, verbatim, categories, min_relevance and timeout_limit; other parameters are
/// ignored, as SearXNG does.
///
/// in:     key - of the request, whose domains a mark may choose; nullptr: none
/// errors: usage that names the parameter
Result<SearchParameters> read_parameters(const Fields& fields, const Snapshot& snapshot,
                                         const KeyConfig* key);

/// A body of POST /v1/search.
struct NativeSearch {
  SearchRequest search;
  int limit = 30;
  bool is_explained = false;
  bool is_verbatim = false;
  SitePreferences sites;
};

/// Reads {"query","domain","slots":{},"variants":[{"template","text"}],"engines":[],"limit","page","explain",
/// "verbatim","all_lists","min_relevance","deadline_ms","depth","language","time_range","safe_search",
/// "sites":{"raise":[],"lower":[],"block":[]}}.
///
/// errors: usage that names the member; unknown members are refused
Result<NativeSearch> read_native_search(const JsonObject& body);

}  // namespace metafuse::service
