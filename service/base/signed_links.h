#pragma once

// Signed links to what this server hands out beside a search: results that are files of this machine, and
// small pictures. Browsers do not follow file: links from a web page, so the server hands such files out
// itself: only below the folders that its configuration names, only by links that it signed, and in a form in
// which a browser runs no code.

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

  /// "/files/DOMAIN?path=...&sign=..."; empty if the URL is no file below the folders, or one that
  /// read_local_file() would refuse.
  ///
  /// cost: opens the file
  std::string link(std::string_view domain, std::string_view url) const;
  bool has_signed(std::string_view domain, std::string_view path, std::string_view signature) const;
};

struct LocalFile {
  std::string_view media_type;
  bool is_shown = false;  ///< the browser may show it; else it saves it
  std::string name;       ///< without the ending of a compressed file
  std::string bytes;
};

constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

/// Reads a file below one of the folders, and decompresses .gz, .xz and .zst; symbolic links must not lead
/// out of the folder. A file of an unknown type is shown if it is a text, else saved.
///
/// errors: no_input: it does not exist, is not below the folders, is no regular file, or is larger than
///         kMostFileBytes, also after decompression
Result<LocalFile> read_local_file(const std::vector<std::string>& folders, const std::string& path);

/// The kinds of small pictures beside results: a site's icon, a result's own thumbnail.
enum class PictureKind { icon, thumbnail };

/// Makes and checks links to pictures that this server fetches for its readers, so that other sites do not
/// learn of a search. The links are signed, so that nobody can make the server fetch a URL that no
/// result named.
struct PictureLinks {
  std::string secret;
  bool has_icons = false;
  bool has_thumbnails = false;

  /// "/picture?..."; empty if such pictures are off or the URL is not http or https.
  ///
  /// in: url - for an icon the result's URL, for a thumbnail the picture's
  std::string link(PictureKind kind, const std::string& url) const;
  /// The picture's URL that a link's parameters name; empty if such pictures are off or the signature
  /// is wrong.
  std::string picture_url(PictureKind kind, const std::string& signed_part, std::string_view signature) const;

 private:
  bool is_on(PictureKind kind) const { return kind == PictureKind::icon ? has_icons : has_thumbnails; }
  std::string signature_of(PictureKind kind, const std::string& text) const;
};

/// The name of a kind in links.
std::string_view name_of(PictureKind kind);

}  // namespace metafuse::service
