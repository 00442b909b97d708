#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

/// True for the first bytes of a file that gzip, xz or zstd has compressed.
bool is_compressed(std::string_view head);

struct TextLimits {
  std::size_t max_line_bytes = std::size_t{64} << 20;
  std::uint64_t max_bytes = std::uint64_t{1} << 40;  ///< after decompression
  /// If set, is told of every line that is too long, and in for_each_line of every one that holds a NUL byte;
  /// such a line is then passed over and is no error.
  std::function<void(const Error& why)> leave_out{};
};

/// Calls `take` with every line of a text file, without its line end.
///
/// in:     path - a plain, .gz, .xz or .zst file, recognised by its first bytes; "-" is standard input
///         take - called with (line, 1-based line number); an Error that it returns stops the reading
/// errors: no_input when the file cannot be opened or is a folder; bad_data when a compressed stream is
///         damaged, ends early or needs more than 128 MiB, or a line is longer than the limit or holds a NUL
///         byte (a binary file). A BOM, CRLF line ends and a missing last line end are accepted.
/// cost:   one buffer; nothing of the file is kept
Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(std::string_view line, std::size_t number)>& take,
                           const TextLimits& limits = {});

/// Calls `take` with blocks of whole lines (including line ends, which only the last line may lack) and the
/// line number at which the block begins. The fast way to read, for parsers that split lines themselves.
///
/// out:    a BOM is removed and no block is empty; CR and NUL bytes are left to the parser
/// errors: as for_each_line, except for NUL bytes
/// cost:   one buffer
Result<void> for_each_block(
    const std::string& path,
    const std::function<Result<void>(std::string_view lines, std::size_t first_line)>& take,
    const TextLimits& limits = {});

/// The complete text of an input. Views into `text` are valid as long as a copy of `storage` exists.
struct FileText {
  std::string path;
  std::string_view text;  ///< without a BOM
  std::shared_ptr<const void> storage;

  /// The line number of a position inside `text`. Counts from the start, so use it for errors only.
  std::size_t line_of(const char* place) const;
};

/// Opens a whole input. A plain file is memory-mapped: this costs no private memory, but the file must not be
/// truncated meanwhile. A compressed file or standard input is read into memory.
///
/// errors: as for_each_line, except for NUL bytes and long lines
Result<FileText> open_text(const std::string& path, const TextLimits& limits = {});

/// The first bytes of a file, decompressed.
/// errors: as for_each_line
Result<std::string> read_beginning(const std::string& path, std::size_t bytes);

/// Reads the whole file into one string.
/// errors: as for_each_line, and bad_data when larger than max_bytes.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes);

}  // namespace metafuse
