#include <string_view>

#include "fuzz/served_app.h"
#include "service/http/head.h"

/// A whole HTTP request to the server: the input is its head and body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse::service;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto end = head_end(text);
  HttpHead head;
  if (!end || parse_head(text.substr(0, *end), 1 << 20, head)) return 0;
  head.request.body = text.substr(*end);
  served(std::move(head.request));
  return 0;
}
