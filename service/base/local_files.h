#pragma once

// Results that are files of this machine. Browsers follow no file: link from a page of the web, so the server
// hands such files out itself: those below folders that its configuration names, by links that it signed, in
// a form that runs nothing.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::service {

/// The path of a file: URL of this machine ("file:///a/b", "file://localhost/a/b"), decoded; empty for any
/// other URL, and for paths with "..", hidden parts or control characters.
std::string path_of_file_url(std::string_view url);

/// Links to files below some folders. They are signed: nobody can have a file that no result named.
struct FileLinks {
  std::string secret;
  std::vector<std::string> folders;  ///< absolute; none: no file is handed out

  /// "/files/DOMAIN?path=...&sign=..."; empty where the URL is no file below the folders, or of a type that
  /// is not handed out.
  std::string link(std::string_view domain, std::string_view url) const;
  bool has_signed(std::string_view domain, std::string_view path, std::string_view signature) const;
};

struct LocalFile {
  std::string_view media_type;
  bool is_shown = false;  ///< in the browser; else it is saved
  std::string bytes;
};

constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

/// Reads a file below one of the folders; symbolic links may not lead out of it.
///
/// errors: no_input: none there, not below the folders, no regular file, a type that is not handed out, or
///         larger than kMostFileBytes
Result<LocalFile> read_local_file(const std::vector<std::string>& folders, const std::string& path);

}  // namespace metafuse::service
