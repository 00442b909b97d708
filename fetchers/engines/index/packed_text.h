#pragma once

// Texts that an index keeps, compressed by zstd.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse::fetchers {

std::string packed_text(std::string_view text);

/// in:     most - bytes that the text may have
/// errors: bad_data: not what packed_text() made of well-formed UTF-8, or longer
Result<std::string> unpacked_text(std::string_view packed, std::size_t most);

}  // namespace metafuse::fetchers
