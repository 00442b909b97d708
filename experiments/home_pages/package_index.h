#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace metafuse::experiments::home_pages {

/// A home page as the packages that name it describe it; each list in the order of the package index, without
/// repetition.
struct HomePage {
  std::string key;  ///< canonical
  std::string url;  ///< as the first package writes it
  std::vector<std::string> names;
  std::vector<std::string> synopses;
  std::vector<std::string> sections;
  std::vector<std::string> tags;  ///< debtags: "role::program"

  friend bool operator==(const HomePage&, const HomePage&) = default;
};

/// The home pages in a Debian package index (`apt-cache dumpavail`, or a Packages file, compressed or not).
///
/// out:    ascending by key; packages without a home page, or whose home page is no http(s) URL, are left out
/// errors: no_input; bad_data: a file without any home page, with what to do
/// cost:   one pass; the kept fields are in memory
Result<std::vector<HomePage>> read_package_index(const std::string& path);

/// The words of a URL in small letters, without scheme and "www".
std::vector<std::string> url_words(const std::string& key);

/// The documents for `metafuse index`, one JSON object a line: url, title (package names), text (synopses),
/// sections, tags, words (of the URL).
std::string to_documents(const std::vector<HomePage>& pages);

}  // namespace metafuse::experiments::home_pages
