#pragma once

// The vocabulary of an embedded index: the titles of its documents, and the words that occur in several of
// them. It completes queries while they are typed and corrects typing errors.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse::service {

/// A word, and how many documents contain it.
using WordCount = std::pair<std::string, std::size_t>;

/// How many documents contain at least one word of every group.
using CountDocuments = std::function<std::size_t(const std::vector<std::vector<std::string>>& groups)>;

/// Whether searches leave a word out if others are asked for.
using IsStopWord = std::function<bool(const std::string& folded)>;

/// Which of several titles completes a prefix first: the one whose completed word most documents contain,
/// then the shortest; or the one that was given first.
enum class TitleOrder : std::uint8_t { by_frequency, as_given };

/// A query whose typing errors are corrected.
struct CorrectedQuery {
  std::string text;
  /// No document has all the typed words, but some have all the corrected ones, and each word that was
  /// replaced is unknown or rare beside its replacement.
  bool is_sure = false;

  friend bool operator==(const CorrectedQuery&, const CorrectedQuery&) = default;
};

/// Immutable, and therefore safe from any thread.
class Vocabulary {
 public:
  /// in:   titles - of the documents, equal ones count as one; words - of their texts, each once
  /// cost: O(n log n) of the titles' words; about 20 bytes per letter of the distinct words
  Vocabulary(const std::vector<std::string>& titles, const std::vector<WordCount>& words,
             TitleOrder order = TitleOrder::by_frequency);

  /// Completions of the prefix, best first: titles that contain it at the beginning of a word, then the
  /// prefix with its last word completed to frequent words. By frequency, the word that completes the first
  /// title comes before the titles if several documents contain it. Case and accents make no difference.
  ///
  /// cost: two binary searches, and at most some thousand candidates
  std::vector<std::string> complete(std::string_view prefix, std::size_t limit) const;

  /// The query with its typing errors corrected; nothing if it seems to have none.
  ///
  /// A query whose words occur together in some document is correct. Otherwise its unknown words, up to
  /// three, or else one of the known ones, are replaced by known words one error away (a letter too many, too
  /// few or different, or two letters exchanged) that occur in a document together with all the other words.
  /// Candidates are compared by the number of such documents, then by how common they are. If there is no
  /// candidate, each unknown word becomes the most common known word one error away. A word is also known if
  /// its singular or plural is. Words with digits, of fewer than three letters, in quotes, in fields and in
  /// exclusions are never replaced. Stop words beside others neither count nor are replaced, and none takes
  /// the place of a known word, because searches do not ask for them.
  ///
  /// in:     documents_with - how many documents contain a word of each group; called at most about 70 times;
  ///         is_stop_word - empty: there are none
  /// source: Wolf Garbe's SymSpell for the words one error away: a table of all forms with one letter left
  ///         out, in which the forms of both words meet
  std::optional<CorrectedQuery> correct(std::string_view query, const CountDocuments& documents_with,
                                        const IsStopWord& is_stop_word = {}) const;

  /// Whether there is nothing to correct: no plain words, too many, or some document has them all.
  static bool is_right(std::string_view query, const CountDocuments& documents_with,
                       const IsStopWord& is_stop_word = {});

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
  /// How often the word, its singular or its plural occurs; 0 if none is known.
  std::size_t count_of(const std::string& folded) const;
  /// The words one error away, the most common first.
  std::vector<const Word*> nearest(std::string_view folded) const;
  /// A typed word that may be wrong, and the words that may be meant.
  struct Doubt {
    std::size_t word = 0;  ///< among the typed words
    std::size_t count = 0;
    std::vector<const Word*> near;
  };
  /// What takes the place of the doubtful words, and how many documents then have all words.
  struct Mending {
    std::vector<Doubt> doubts;
    std::vector<const Word*> by;  ///< one per doubt; empty if no words occur together
    std::size_t documents = 0;
    std::size_t common = 0;  ///< the sum of how often they occur

    bool is_better_than(const Mending& other) const {
      return std::pair(documents, common) > std::pair(other.documents, other.common);
    }
  };
  static Mending mend(std::vector<Doubt> doubts, std::vector<std::vector<std::string>> groups,
                      const CountDocuments& documents_with);
  static Mending mend_one(std::vector<Doubt> doubts, const std::vector<std::vector<std::string>>& groups,
                          const CountDocuments& documents_with);
  /// A title that contains the typed text at the beginning of a word.
  struct Candidate {
    WordStart start;
    const Word* word = nullptr;  ///< that completes the typed text's last word; null if that ends in none
  };
  std::vector<Candidate> candidates(std::string_view folded) const;
  void complete_titles(std::string_view folded, std::size_t limit, std::vector<std::string>& out) const;
  void complete_word(std::string_view prefix, std::size_t limit, std::vector<std::string>& out) const;

  TitleOrder order_;
  std::vector<std::string> titles_;
  std::vector<std::string> folded_titles_;
  std::vector<WordStart> starts_;    ///< sorted by suffix
  std::vector<Word> words_;          ///< sorted by text
  std::vector<Deletion> deletions_;  ///< sorted by hash
};

/// Whether two words are at most one typing error apart (optimal string alignment distance).
bool is_one_error_apart(std::u32string_view a, std::u32string_view b);

}  // namespace metafuse::service
