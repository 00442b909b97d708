#pragma once

#include <optional>
#include <string_view>

#include "core/json.h"
#include "service/answers/rendered_answers.h"
#include "service/http/exchange.h"

namespace metafuse::service {
class App;
}

namespace metafuse::service::mcp {

/// The tools, always in the same order.
JsonArray tool_list();

/// Runs a tool. What goes wrong inside it is a result with isError, as the protocol wants.
///
/// out: nothing for a tool that does not exist; found - the search behind the result, when there is one
std::optional<JsonObject> call_tool(App& app, const Exchange& exchange, std::string_view name,
                                    const JsonObject& arguments, std::optional<FoundSearch>& found);

}  // namespace metafuse::service::mcp
