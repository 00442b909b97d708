#pragma once

// What a domain's embedded indexes are about: the titles of their documents and the words that stand in
// several of them. It completes what is being typed and corrects what was typed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse::service {

/// A word, and in how many documents it stands.
using WordCount = std::pair<std::string, std::size_t>;

/// How many documents hold at least one word of every group.
using CountDocuments = std::function<std::size_t(const std::vector<std::vector<std::string>>& groups)>;

/// Immutable once made, and so safe from any thread.
class Vocabulary {
 public:
  /// in:   titles - of documents; words - of their texts, each once
  /// cost: O(n log n) of the titles' words; about 20 bytes per letter of the distinct words
  Vocabulary(const std::vector<std::string>& titles, const std::vector<WordCount>& words);

  /// Queries that begin as the prefix does, best first: whole titles where one of their words begins so,
  /// then the prefix with its last word completed to frequent ones. Capitals and accents make no difference.
  ///
  /// cost: two binary searches, and at most some thousand candidates
  std::vector<std::string> complete(std::string_view prefix, std::size_t limit) const;

  /// The query without a typing error; nothing when it seems to have none.
  ///
  /// A query whose words stand together in some document is right. Otherwise the word is replaced whose
  /// replacement, a known word one error away (a letter too many, too few, another one, two exchanged),
  /// stands in a document with all the others: unknown words before known ones, then by the number of such
  /// documents, then by how common it is. Where no replacement does, each unknown word becomes the most
  /// common known one that is one error away. A word in the other number is known where its singular or
  /// plural is. Words with digits, of less than three letters, in quotes, fields and exclusions stay.
  ///
  /// in:   documents_with - how many documents hold one of each group of words; called at most some 60 times
  /// source: Wolf Garbe's SymSpell for the words one error away: both words' forms with one letter left out
  ///       meet in a table
  std::optional<std::string> correct(std::string_view query, const CountDocuments& documents_with) const;

  std::size_t titles() const { return titles_.size(); }
  std::size_t words() const { return words_.size(); }
  std::size_t bytes() const;

 private:
  struct WordStart {
    std::uint32_t title = 0;
    std::uint32_t begin = 0;  ///< byte in the folded title
  };
  struct Deletion {
    std::uint32_t hash = 0;
    std::uint32_t word = 0;
  };
  struct Word {
    std::string text;
    std::size_t count = 0;
  };

  std::string_view suffix(const WordStart& start) const;
  const Word* find_word(std::string_view folded) const;
  /// Whether it, its singular or its plural is known.
  bool is_known(const std::string& folded) const;
  /// The words one error away, the most common first.
  std::vector<const Word*> nearest(std::string_view folded) const;
  void complete_titles(std::string_view folded, std::size_t limit, std::vector<std::string>& out) const;
  void complete_word(std::string_view prefix, std::size_t limit, std::vector<std::string>& out) const;

  std::vector<std::string> titles_;
  std::vector<std::string> folded_titles_;
  std::vector<WordStart> starts_;    ///< by suffix
  std::vector<Word> words_;          ///< by text
  std::vector<Deletion> deletions_;  ///< by hash
};

/// Whether two words are at most one typing error apart (optimal string alignment distance).
bool is_one_error_apart(std::u32string_view a, std::u32string_view b);

}  // namespace metafuse::service
