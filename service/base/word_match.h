#pragma once

// Words as readers see them: capitals, accents and compatibility forms make no difference ("Café" is
// "cafe"), and a word ends where letters and digits end. Conditions are checked, and matches marked, by
// the same rule.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::service {

/// The text as it is compared: small letters without accents, and one blank for each white space.
std::string folded_text(std::string_view text);

/// A word, and its plural or singular by an s where it is long enough; a phrase alone.
std::vector<std::string> word_forms(const std::string& word);

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// A text as letters to compare, each with the bytes that it came from.
class FoldedText {
 public:
  /// in:   text - UTF-8; a text that is not holds nothing
  /// cost: O(bytes)
  explicit FoldedText(std::string_view text);

  /// Where words stand one after the other, in any number of characters that are no letters between them.
  ///
  /// in:   words - one word or several; punctuation inside a word must stand in the text too
  /// out:  the ranges in the order of the text, not overlapping; none for words without a letter
  /// cost: O(letters of the text x letters of the words)
  std::vector<TextRange> find(const FoldedText& words) const;
  bool contains(const FoldedText& words) const;

 private:
  struct Letter {
    char32_t c = 0;  ///< folded; a blank for white space
    std::uint32_t begin = 0, end = 0;
  };

  /// How many letters match at `at`, 0 for no match.
  std::size_t match_at(std::size_t at, const FoldedText& words) const;

  std::vector<Letter> letters_;
};

/// The ranges of several words in a text: in its order, joined where they touch or only a blank is
/// between them.
std::vector<TextRange> word_ranges(std::string_view text, std::span<const FoldedText> words);

}  // namespace metafuse::service
