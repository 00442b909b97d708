#pragma once

#include <string>
#include <string_view>

namespace metafuse {

/// A part of the web: a host with all below it, or what lies below a path there.
struct Site {
  std::string host;       ///< lower case, in ASCII form, without "www." and brackets; empty if none is named
  std::string path;       ///< "" for all of the host, or such as "/a/b"
  bool has_more = false;  ///< the text also has what no site needs: a user, port, query or fragment
};

/// Reads a site as people and clients write it: a host, perhaps with a path, or a URL. Blanks around it are
/// ignored, as are "*.", "." or "www." in front of the host, "." behind it, and "/" or "/*" at the end. Any
/// text is read; nothing is checked.
///
/// cost: O(bytes)
Site read_site(std::string_view text);

}  // namespace metafuse
