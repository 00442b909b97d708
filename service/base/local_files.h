#pragma once

// Results that are files on this machine. Browsers do not follow file: links from a web page, so the server
// hands such files out itself: only below the folders that its configuration names, only by links that it
// signed, and in a form in which a browser runs no code.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::service {

/// The path of a file: URL of this machine ("file:///a/b", "file://localhost/a/b"), decoded; empty for any
/// other URL, and for paths with "..", hidden parts or control characters.
std::string path_of_file_url(std::string_view url);

/// Makes and checks links to files below some folders. The links are signed, so that a client can only read
/// files that some result named.
struct FileLinks {
  std::string secret;
  std::vector<std::string> folders;  ///< absolute paths; if empty, no file is handed out

  /// "/files/DOMAIN?path=...&sign=..."; empty if the URL is no file below the folders or has a type that is
  /// not handed out.
  std::string link(std::string_view domain, std::string_view url) const;
  bool has_signed(std::string_view domain, std::string_view path, std::string_view signature) const;
};

struct LocalFile {
  std::string_view media_type;
  bool is_shown = false;  ///< the browser may show it; else it saves it
  std::string bytes;
};

constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

/// Reads a file below one of the folders; symbolic links must not lead out of it.
///
/// errors: no_input: it does not exist, is not below the folders, is no regular file, has a type that is not
///         handed out, or is larger than kMostFileBytes
Result<LocalFile> read_local_file(const std::vector<std::string>& folders, const std::string& path);

}  // namespace metafuse::service
