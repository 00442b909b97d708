#include "fetchers/definition/engine_file.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// An engine file: the input is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)metafuse::fetchers::parse_engine_file(text, "input.yaml");
  return 0;
}
