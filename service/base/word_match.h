#pragma once

// Compares words as readers do: case, accents and compatibility forms make no difference ("Café" is "cafe"),
// and a word ends where letters and digits end. The same rule checks conditions and marks matches.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::service {

/// The text as it is compared: lower case, without accents, one blank per white-space character.
std::string folded_text(std::string_view text);

/// A word and, if it is long enough, its plural or singular formed with an s. A phrase has one form only.
std::vector<std::string> word_forms(const std::string& word);

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// A text as folded letters, each with the bytes that it came from.
class FoldedText {
 public:
  /// in:   text - UTF-8; any other text counts as empty
  /// cost: O(bytes)
  explicit FoldedText(std::string_view text);

  /// Where the words occur one after the other, with any number of characters between them that are
  /// no letters.
  ///
  /// in:   words - one word or several; punctuation inside a word must be in the text, too
  /// out:  the ranges in the order of the text, not overlapping; empty for words without a letter
  /// cost: O(letters of the text x letters of the words)
  std::vector<TextRange> find(const FoldedText& words) const;
  bool contains(const FoldedText& words) const;

 private:
  struct Letter {
    char32_t c = 0;  ///< folded; ' ' for white space
    std::uint32_t begin = 0, end = 0;
  };

  /// How many letters match at `at`, 0 for no match.
  std::size_t match_at(std::size_t at, const FoldedText& words) const;

  std::vector<Letter> letters_;
};

/// The ranges of several words in a text, in its order. Ranges that touch or have only a blank between them
/// are joined.
std::vector<TextRange> word_ranges(std::string_view text, std::span<const FoldedText> words);

}  // namespace metafuse::service
