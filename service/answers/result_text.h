#pragma once

// How the text of a result is shown: matched words marked, a snippet cut around them, an address that can be
// read. All of it is plain text in pieces; the page escapes each piece.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/base/word_match.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// Plain text, and the matched words behind it.
struct MarkedPiece {
  std::string plain;
  std::string match;  ///< empty in the last piece

  friend bool operator==(const MarkedPiece&, const MarkedPiece&) = default;
};

/// What a search looked for: its typed words and phrases, or the words of its slots; of both, forms
/// that differ by a plural's s too. At most 32; single letters and words like "of" only where nothing
/// else was looked for.
std::vector<FoldedText> words_to_mark(const SearchAnswer& answer);

/// A text with its matches marked, 16 at most.
///
/// in:  text - valid UTF-8
std::vector<MarkedPiece> marked(std::string_view text, std::span<const FoldedText> words);

/// At most about `max_bytes` of a text where most matches stand, cut between words, with "…" where something
/// is left out.
std::string excerpt(std::string_view text, std::span<const FoldedText> words, std::size_t max_bytes);

/// A URL for people.
struct ReadableAddress {
  std::string host;  ///< without "www."
  /// " › a › b.html", decoded where that is safe to show; empty for a site's first page. Of a file of this
  /// machine "/a/b.html", to be copied.
  std::string path;
};

/// in: url - http, https or file; of others the whole text is the host
ReadableAddress readable_address(std::string_view url);

/// The ending of an address that says what opens it: "pdf", "odt"; empty for pages and what is not known.
std::string shown_file_type(std::string_view url);

}  // namespace metafuse::service
