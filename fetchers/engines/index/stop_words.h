#pragma once

#include <span>
#include <string_view>

namespace metafuse::fetchers {

/// The stop words of a language, one per line.
struct StopWordFile {
  std::string_view language;  ///< an ISO 639-1 code
  std::string_view words;
};

/// The lists of Snowball, as Debian's liblingua-stopwords-perl has them.
std::span<const StopWordFile> stop_word_files();

}  // namespace metafuse::fetchers
