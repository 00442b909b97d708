#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "core/url.h"

/// The canonical key of a URL: the input is the URL.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto key = metafuse::canonical_url_key(text);
  if (!key) return 0;
  metafuse::require(key->find_first_of(" \t\r\n") == std::string::npos, "a key holds no white space");
  return 0;
}
