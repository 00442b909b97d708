#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

enum class Packing { none, gzip, xz, zstd };

/// By the first bytes of a file.
Packing packing_of(std::string_view head);
const char* name_of(Packing packing);

/// Reads up to `size` bytes into `buffer`; 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(char* buffer, std::size_t size)>;

/// Calls `take` with the decompressed bytes, block by block. Several members or frames one after the other
/// are one stream, as gunzip, unxz and unzstd read them.
///
/// in:     path - for errors
/// errors: those of `read` and `take`; bad_data with "PATH: ...": damaged, or ends early
Result<void> decompress(const std::string& path, Packing packing, const ReadBytes& read,
                        const std::function<Result<void>(std::string_view)>& take);

}  // namespace metafuse
