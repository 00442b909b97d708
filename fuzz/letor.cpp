#include <cstddef>
#include <cstdint>
#include <string_view>

#include "evaluation/runs/letor_file.h"

/// A LETOR file, read once with values and once with ranks: the input is its lines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool are_ranks : {false, true})
    (void)metafuse::evaluation::parse_letor_lines(
        "input", text, 1, {are_ranks},
        [](const metafuse::evaluation::LetorRow&) -> metafuse::Result<void> { return {}; });
  return 0;
}
