#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
///         damaged or ends early, a line is longer than the limit, or a line holds a NUL byte (a binary
///         file). A BOM, CRLF line ends and a missing last line end are accepted.
/// cost:   one buffer; nothing of the file is kept
Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(std::string_view line, std::size_t number)>& take,
                           const TextLimits& limits = {});

/// Calls `take` with blocks of whole lines (line ends included, the last may lack its own) and the number of
/// the block's first line: the fast way to read, for parsers that find the lines themselves.
///
/// out:    a BOM is removed, blocks hold no empty tail; CR and NUL bytes are left to the parser
/// errors: as for_each_line, but for NUL bytes
/// cost:   one buffer
Result<void> for_each_block(
    const std::string& path,
    const std::function<Result<void>(std::string_view lines, std::size_t first_line)>& take,
    const TextLimits& limits = {});

/// All bytes of one input; views into `text` live as long as a copy of `storage`.
struct FileText {
  std::string path;
  std::string_view text;  ///< without a BOM
  std::shared_ptr<const void> storage;

  /// The number of the line that holds this place of `text`. Counts from the start: for errors.
  std::size_t line_of(const char* place) const;
};

/// Opens a whole input: a plain file is mapped (it costs no private memory, and must not be cut short
/// meanwhile), a compressed one or standard input is read into memory.
///
/// errors: as for_each_line, but for NUL bytes and long lines
Result<FileText> open_text(const std::string& path, const TextLimits& limits = {});

/// The whole file as one string.
/// errors: as for_each_line, and bad_data when larger than max_bytes.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes);

}  // namespace metafuse
