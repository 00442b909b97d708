#pragma once

// What a file holds, by the ending of its name or else by its content, and how documents are read from it.

#include <span>
#include <string>
#include <string_view>

#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// A row of the table of kinds.
struct FileKind {
  std::string_view name;     ///< for people: "PDF"
  std::string_view endings;  ///< ".htm .html"
  /// Reads a whole file; nullptr for tables (CSV, JSON lines, sitemaps), which are read row by row, and for
  /// what is left out.
  ReadDocuments read = nullptr;
  std::string_view left_out{};                    ///< why such files are left out; empty if they are read
  std::size_t max_bytes = std::size_t{16} << 20;  ///< of a file, decompressed
};

/// All kinds, in the order in which reports name them.
std::span<const FileKind> file_kinds();

/// The kind that a name's ending states, without .gz, .xz and .zst; nullptr for any other ending or none.
const FileKind* kind_by_ending(std::string_view path);

/// The kind of a file without a known ending, by its first bytes. Never nullptr: what is neither a known
/// format nor text is left out.
const FileKind* kind_by_content(std::string_view head);

/// The kind of a file, whose ending may say that it is a text though its bytes are none.
const FileKind& kind_of_bytes(const FileKind& by_ending, std::string_view bytes);

/// How many bytes kind_by_content() looks at.
inline constexpr std::size_t kKindBytes = 4096;

/// Whether the kind is one of these, which are read row by row.
bool is_csv(const FileKind& kind);
bool is_json_lines(const FileKind& kind);
bool is_sitemap(const FileKind& kind);

}  // namespace metafuse::fetchers
