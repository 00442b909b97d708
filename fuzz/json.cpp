#include "core/json.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/contract.h"

/// A JSON text: the input is the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = metafuse::parse_json(text, "input");
  if (!value) return 0;
  // A value that was read can be written, and reads back as the same text. (The values may differ: 1.0 is
  // written as 1, which is a whole number.)
  const auto back = metafuse::parse_json(metafuse::to_text(*value), "written");
  metafuse::require(back.has_value() && metafuse::to_text(*back) == metafuse::to_text(*value),
                    "a JSON value survives writing and reading");
  return 0;
}
