#include "fetchers/engines/index/packed_text.h"

#include <zstd.h>

#include "core/text.h"

namespace metafuse::fetchers {

std::string packed_text(std::string_view text) {
  constexpr int kLevel = 3;
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), kLevel);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return out;
}

Result<std::string> unpacked_text(std::string_view packed, std::size_t most) {
  const auto damaged = [] { return fail(Code::bad_data, "a kept text is damaged; build the index again"); };
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > most) return damaged();  // also for the two values that report an error
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (got != size || first_invalid_utf8(out) != std::string_view::npos) return damaged();
  return out;
}

}  // namespace metafuse::fetchers
