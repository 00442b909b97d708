#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

enum class Packing { none, gzip, xz, zstd };

/// Recognises the compression of a file by its first bytes.
Packing packing_of(std::string_view head);
const char* name_of(Packing packing);

/// Reads up to `size` bytes into `buffer`; returns their number, 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(char* buffer, std::size_t size)>;

/// Calls `take` with the decompressed bytes, block by block. Consecutive gzip members, xz streams or zstd
/// frames are read as one stream, as gunzip, unxz and unzstd do.
///
/// in:     path - named in errors
/// errors: those of `read` and `take`; bad_data with "PATH: ...": the data are damaged or end early
Result<void> decompress(const std::string& path, Packing packing, const ReadBytes& read,
                        const std::function<Result<void>(std::string_view)>& take);

}  // namespace metafuse
