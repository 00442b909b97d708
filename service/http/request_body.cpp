#include "service/http/request_body.h"

namespace metafuse::service {

Result<JsonObject> json_body(const HttpRequest& request) {
  JsonLimits limits;
  limits.max_depth = 32;
  TRY(auto value, parse_json(request.body, "body", Code::usage, limits));
  if (!value.is_object()) return fail(Code::usage, "the body must be a JSON object");
  return std::move(value.as_object());
}

}  // namespace metafuse::service
