#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"
#include "service/http/exchange.h"
#include "service/searcher.h"

namespace metafuse::service::mcp {

/// The tools, always in the same order.
JsonArray tool_list();

/// Runs a tool. What goes wrong inside it is a result with isError, as the protocol wants.
///
/// out: nothing for a tool that does not exist; found - the search behind the result, when there is one
std::optional<JsonObject> call_tool(Searcher& searcher, const Exchange& exchange, std::string_view name,
                                    const JsonObject& arguments, std::optional<FoundSearch>& found);

}  // namespace metafuse::service::mcp
