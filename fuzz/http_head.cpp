#include "service/http_head.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  metafuse::service::HttpHead head;
  (void)metafuse::service::parse_head(text, 1 << 20, head);
  (void)metafuse::service::parse_form(text);
  return 0;
}
