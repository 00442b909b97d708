#pragma once

#include "core/json.h"
#include "core/result.h"
#include "service/http/message.h"

namespace metafuse::service {

/// The JSON object in a request's body.
///
/// errors: usage that says what is wrong: not JSON, not an object, nested too deeply
Result<JsonObject> json_body(const HttpRequest& request);

}  // namespace metafuse::service
