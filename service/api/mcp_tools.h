#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/answers/readable_page.h"
#include "service/base/dates.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/search/result_conditions.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

// The MCP tools that a language model can choose from, and the text that a search returns to it. The model
// reads and pays for every byte, so each domain is one tool that says what it searches, and an answer holds
// only what is needed to choose a page.

namespace metafuse::service::mcp {

/// A tool that searches one domain. With `domain` null, the call itself names the domain.
struct SearchTool {
  std::string name;
  const LoadedDomain* domain = nullptr;
};

inline constexpr std::string_view kListDomains = "list_domains";
inline constexpr std::string_view kFetchPage = "fetch_page";
/// The two tools that ChatGPT's connectors and deep research require, by exactly these names: `search` takes
/// only a query, for the default domain, and `fetch` only the id of a result, which is its URL.
inline constexpr std::string_view kConnectorSearch = "search";
inline constexpr std::string_view kConnectorFetch = "fetch";

/// The tool of each domain that the key may search: the default one's first, then the others by name. Domains
/// that only fuse callers' lists have none.
std::vector<SearchTool> domain_tools(const Snapshot& snapshot, const KeyConfig* key);

/// The tool that searches, by its name: "search_DOMAIN" (underscores for hyphens) for each domain that the
/// key may search, or "web_search" for the first domain that searches the web. "web_search" is always
/// understood: if no domain searches the web, it takes a `domain` argument. So does "domain_search", which is
/// listed when there are more domains than the list of tools holds.
///
/// out: nothing for another name
std::optional<SearchTool> find_search_tool(const Snapshot& snapshot, const KeyConfig* key,
                                           std::string_view name);

/// All tools as `tools/list` returns them: the default domain's first, then the others by name.
JsonArray tool_list(const Snapshot& snapshot, const KeyConfig* key);

/// What a call of a search tool asks for.
struct ToolSearch {
  SearchRequest search;
  int limit = 10;
  bool is_explained = false;
  bool is_verbatim = false;
  ResultConditions conditions;

  bool is_filtered() const { return conditions.is_set(); }
};

/// errors: usage that names the argument
Result<ToolSearch> read_tool_search(const SearchTool& tool, const JsonObject& arguments);

/// What a call of fetch_page asks for.
struct PageCall {
  std::string url;
  fetchers::PageForm form = fetchers::PageForm::markdown;
  std::size_t start = 0;  ///< byte of the text at which the answer begins
  std::size_t max_bytes = 6000;
};

/// errors: usage that names the argument
Result<PageCall> read_page_call(const JsonObject& arguments);

/// The part of a page that the call asks for, below the page's title and URL, followed by the byte at which
/// the rest begins.
std::string page_text(const PageCall& wanted, std::string_view title, std::string_view url,
                      std::string_view text);

/// The requested window of the results that meet the call's conditions.
ShownResults filtered_results(const SearchAnswer& answer, const ToolSearch& wanted, UnixTime now);

/// What the tool `search` of connectors asks for: the results of one query in the default domain.
///
/// errors: usage that names the argument
Result<ToolSearch> read_connector_search(const JsonObject& arguments);

/// {"results":[{"id","title","url"}]} as text, as connectors read it.
std::string connector_results(const SearchAnswer& answer, const ShownResults& shown);

/// The id that the tool `fetch` of connectors takes.
///
/// errors: usage that names the argument
Result<PageCall> read_connector_fetch(const JsonObject& arguments);

/// The results as text: rank, title, URL and as much of the snippets as fits. Encoded in JSON it takes at
/// most 280 bytes per requested result (10 results, the default: 2.8 kB), whatever the engines return. URLs
/// are never cut; a result whose URL does not fit is given by its title only.
std::string lean_text(const SearchAnswer& answer, const ShownResults& shown, const ToolSearch& wanted,
                      bool has_more);

}  // namespace metafuse::service::mcp
