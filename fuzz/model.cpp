#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "fusion/training/registry.h"

/// A model file: the input is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = metafuse::fusion::parse_model(text, "input.json");
  if (!model) return 0;
  // A model that was read can be written, and from then on stays the same byte for byte.
  const std::string written = metafuse::fusion::model_text(*model);
  const auto back = metafuse::fusion::parse_model(written, "written");
  metafuse::require(back.has_value() && metafuse::fusion::model_text(*back) == written,
                    "a model survives its file");
  return 0;
}
