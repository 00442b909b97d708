#pragma once

// From texts to the words of an index. Indexing and searching, ranking by words, cosines and vectors all use
// this one analysis.
//
// A text is cut into runs of letters and digits, which are folded: lower case, compatibility forms, without
// accents on Latin and Greek letters. What follows an English apostrophe ("dog's", "we'll") is dropped. Runs
// of Chinese, Japanese and Korean characters become pairs of neighbours, and indexes have the last character
// of a run beside its last pair, so that every character begins a word; scripts without blanks, such as
// Thai, are cut by ICU's dictionaries. A kind of word list then keeps these words, their stems, or their
// 4-grams.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// What a list of an index is about. The numbers are stored in index files.
enum class WordKind {
  words = 0,  ///< whole words
  stems = 1,  ///< words without their endings, by the rules of a language (Snowball)
  parts = 2,  ///< the 4-grams of words, with a blank before and after each word
};

inline constexpr std::array kWordKinds = {WordKind::words, WordKind::stems, WordKind::parts};

std::string_view name_of(WordKind kind);
/// Also knows the names of SQLite's tokenizers, which earlier versions used: unicode61, porter, trigram.
std::optional<WordKind> word_kind_of(std::string_view name);

/// Cuts a text into folded words. The text must outlive the cutter; bytes that are not UTF-8 separate words.
class WordCutter {
 public:
  explicit WordCutter(std::string_view text) : text_(text) {}

  /// Moves to the next word. False at the end.
  bool next();
  std::string_view word() const { return word_; }
  /// Where the word stands in the text, in bytes; about where, if it is a piece.
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  /// Whether the word is one piece of several that a run without blanks was cut into.
  bool is_piece() const { return is_piece_; }
  /// Whether the word is one Chinese, Japanese or Korean character with none beside it.
  bool is_lone_character() const { return is_of_pairs_ && first_character_bytes() == word_.size(); }
  /// Of the last pair of a run its second character, since each other character begins a pair; else empty.
  std::string_view last_character() const;

 private:
  bool next_ascii();
  void cut_other();
  void cut_pairs(std::size_t begin, std::size_t end);
  void cut_by_dictionary(std::size_t begin, std::size_t end);
  bool take_piece();
  std::size_t first_character_bytes() const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0, end_ = 0;  ///< of the word
  std::size_t run_begin_ = 0, run_end_ = 0, run_pieces_ = 0;
  std::string word_;
  std::vector<std::string> pieces_;  ///< found but not yet returned, last first
  bool is_piece_ = false;
  bool is_of_pairs_ = false;
};

/// The words of a language that say little by themselves, such as "the"; empty for a language without a list.
/// in:     language - an ISO 639-1 code
class StopWords {
 public:
  explicit StopWords(std::string_view language);

  /// in:     word - folded
  bool contains(std::string_view word) const;

 private:
  std::vector<std::string> words_;  ///< folded, sorted
};

/// The language whose stop words are the most frequent in a text, as an ISO 639-1 code; empty if none is
/// frequent enough to tell.
/// cost:   reads some thousand words of the text
std::string language_by_stop_words(std::string_view text);

/// errors: bad_config: no such language, with the names of those that have stems
Result<void> check_language(std::string_view language);

/// What becomes of a folded word in a list of one kind and language. Not thread-safe.
class WordForms {
 public:
  /// in:     language - an ISO 639-1 code; for a language without a stemmer, stems are whole words
  WordForms(WordKind kind, const std::string& language);
  ~WordForms();
  WordForms(WordForms&&) noexcept;

  /// Valid until the next call. One form for `words`, one or more for `parts`. Of `stems` the stem, followed
  /// by that of the word without its accents if that is another one, so that accents never matter: Spanish
  /// "educación" has "educ" and "educacion".
  const std::vector<std::string>& of(std::string_view folded);

 private:
  struct Stemmer;

  std::string stem_of(std::string_view folded) const;

  WordKind kind_;
  std::unique_ptr<Stemmer> stemmer_;
  std::vector<std::string> forms_;
};

}  // namespace metafuse::fetchers
