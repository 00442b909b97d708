#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/json.h"
#include "service/api/mcp_protocol.h"
#include "service/config/snapshot.h"
#include "service/http/head.h"
#include "service/http/preferences.h"
#include "service/learning/feedback.h"
#include "service/search/search_requests.h"

/// The body, query or cookie of a request, in every dialect.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse;
  using namespace metafuse::service;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Snapshot snapshot;
  if (const auto fields = parse_form(text)) (void)read_parameters(*fields, snapshot, nullptr);
  (void)preferences_text(read_preferences_cookie(text));
  const auto json = parse_json(text, "body", Code::usage);
  if (!json) return 0;
  (void)parse_feedback(*json);
  mcp::Message message;
  mcp::Era era = mcp::Era::session;
  if (!mcp::read_message(*json, message)) (void)mcp::check_headers(HttpRequest(), message, era);
  if (json->is_object()) (void)read_native_search(json->as_object());
  return 0;
}
