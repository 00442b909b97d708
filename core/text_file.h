#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

struct TextLimits {
  std::size_t max_line_bytes = std::size_t{64} << 20;
  std::uint64_t max_bytes = std::uint64_t{1} << 40;  ///< after decompression
};

/// Calls `take` with every line of a text file, without its line end.
///
/// in:     path - a file, plain or .gz, .xz, .zst by its first bytes; "-" is standard input;
///         take - (line, 1-based line number); an Error from it ends the reading
/// errors: no_input when the file cannot be opened or is a folder; bad_data when a compressed stream is
/// damaged
///         or ends early, a line is longer than the limit, or a line holds a NUL byte (a binary file).
///         A BOM, CRLF line ends and a missing last line end are accepted.
/// cost:   one buffer; nothing of the file is kept
Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(std::string_view line, std::size_t number)>& take,
                           const TextLimits& limits = {});

/// The whole file as one string. errors: as for_each_line, and bad_data when larger than max_bytes.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes);

}  // namespace metafuse
