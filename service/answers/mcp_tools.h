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
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

// The tools that a model can choose from, and what a search tells it. A model reads every byte and pays for
// it: each domain is a tool that says what it searches, and an answer holds what one needs to choose a page.

namespace metafuse::service::mcp {

/// A tool that searches one domain, or, without a domain, the one that the call names.
struct SearchTool {
  std::string name;
  const LoadedDomain* domain = nullptr;
};

inline constexpr std::string_view kListDomains = "list_domains";
inline constexpr std::string_view kFetchPage = "fetch_page";

/// The tool that searches, by its name: "search_DOMAIN" (underscores for hyphens) for each domain that the
/// key may search, or "web_search" for the first that searches the web. "web_search" is always answered:
/// where no domain searches the web it takes a `domain`, as "search" does, which is listed where there are
/// more domains than one would list tools.
///
/// out: nothing for another name
std::optional<SearchTool> find_search_tool(const Snapshot& snapshot, const KeyConfig* key,
                                           std::string_view name);

/// All tools as `tools/list` answers them: the default domain's first, then the others' by name.
JsonArray tool_list(const Snapshot& snapshot, const KeyConfig* key);

/// Their names, for a refusal: "search_a, search_b, list_domains".
std::string tool_names(const Snapshot& snapshot, const KeyConfig* key);

/// What a call of a search tool asks for.
struct ToolSearch {
  SearchRequest search;
  int limit = 10;
  bool is_explained = false;
  std::vector<std::string> sites;  ///< only results of these; empty for all
  int days = 0;                    ///< how old results may be that have a date, 0 for any age

  std::size_t first() const {
    return static_cast<std::size_t>(search.page - 1) * static_cast<std::size_t>(limit);
  }
  bool is_filtered() const { return !sites.empty() || days > 0; }
};

/// errors: usage that names the argument
Result<ToolSearch> read_tool_search(const SearchTool& tool, const JsonObject& arguments);

/// What a call of fetch_page asks for.
struct PageCall {
  std::string url;
  fetchers::PageForm form = fetchers::PageForm::markdown;
  std::size_t start = 0;  ///< byte of the text that the answer begins with
  std::size_t max_bytes = 6000;
};

/// errors: usage that names the argument
Result<PageCall> read_page_call(const JsonObject& arguments);

/// The part of a page that the call asks for, below its title and URL, and where it goes on.
std::string page_text(const PageCall& wanted, std::string_view title, std::string_view url,
                      std::string_view text);

/// The window of those results that the call's sites and time range let through.
ShownResults filtered_results(const SearchAnswer& answer, const ToolSearch& wanted, UnixTime now);

/// What was found as text: rank, title, URL and as much of the snippets as fits. As JSON it takes at most
/// 280 bytes per result that was asked for (10 results, the default: 2.8 kB), whatever the engines say. URLs
/// stand whole; of a result whose URL does not fit, only the title is said.
std::string lean_text(const SearchAnswer& answer, const ShownResults& shown, const ToolSearch& wanted,
                      bool has_more);

}  // namespace metafuse::service::mcp
