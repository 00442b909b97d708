#pragma once

// How a result's text is shown: with matched words marked, the snippet cut around them, and a readable
// address. Everything here is plain text in pieces; the page escapes each piece.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/base/signed_links.h"
#include "service/base/word_match.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// Plain text, and the matched words that follow it.
struct MarkedPiece {
  std::string plain;
  std::string match;  ///< empty in the last piece

  friend bool operator==(const MarkedPiece&, const MarkedPiece&) = default;
};

/// What a search looked for: its typed words and phrases, or else the words of its slots, with and without a
/// plural's s. At most 32. Single letters and words like "of" are included only if there are no others. At
/// most 32 more are other forms that an index of one's own found in the passages shown.
std::vector<FoldedText> words_to_mark(const SearchAnswer& answer);

/// A text with at most 16 of its matches marked.
///
/// in:  text - valid UTF-8
std::vector<MarkedPiece> marked(std::string_view text, std::span<const FoldedText> words);

/// About `max_bytes` of a text, from where most matches are; cut between words, with "…" where text is
/// left out.
std::string excerpt(std::string_view text, std::span<const FoldedText> words, std::size_t max_bytes);

/// A URL for people.
struct ReadableAddress {
  std::string host;  ///< without "www."
  /// " › a › b.html", decoded where that is safe to show; empty for a site's first page. For a file of this
  /// machine, a path to copy: "/a/b.html".
  std::string path;
};

/// in: url - http, https or file; for any text without "://", `host` is the whole text
ReadableAddress readable_address(std::string_view url);

/// Where a result's link leads; empty for a file that cannot be opened from a page.
std::string target_of(const FileLinks& files, std::string_view domain, const std::string& url);

/// The file type that an address's ending names, such as "pdf" or "odt"; empty for web pages and
/// unknown endings.
std::string shown_file_type(std::string_view url);

}  // namespace metafuse::service
