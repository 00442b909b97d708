#pragma once

// What a query asks of documents, in the words of one kind of list: a query's texts become words, stems or
// parts, by the analysis that the index was built with.

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/posting_list.h"
#include "fetchers/engines/index/word_query.h"

namespace metafuse::fetchers {

/// A word of a list, or all words that begin with it.
struct AskedForm {
  std::string text;
  ColumnSet columns = kAllColumns;
  bool is_beginning = false;

  auto operator<=>(const AskedForm&) const = default;
};

struct Condition {
  /// `phrase`: the forms one behind the other. `maybe`: the first child must match, and the others only add
  /// to the score. `without`: the first must match and no other may.
  enum class Kind { word, phrase, near, all, any, without, maybe };

  Kind kind = Kind::word;
  std::vector<std::size_t> forms;  ///< of a word (one) or phrase, as places in AskedQuery::forms
  double weight = 1;               ///< of a word or phrase: how often it was asked for
  std::size_t distance = 0;        ///< of `near`
  std::vector<Condition> children;
};

struct AskedQuery {
  std::vector<AskedForm> forms;  ///< each once
  std::map<AskedForm, std::size_t> places;
  Condition root;
  bool is_empty = true;  ///< the query has no word, and nothing matches

  /// The place of a form in `forms`; adds it if it is new.
  std::size_t place_of(const AskedForm& form);
};

/// Turns queries into conditions. Not thread-safe.
class QueryReader {
 public:
  /// in:     languages - of the documents, the most frequent first; a word counts in the form of each
  QueryReader(WordKind kind, const std::vector<std::string>& languages, std::vector<std::string> columns);

  /// A word without letters and digits is left out.
  /// in:     keeps_stop_words - else they are left out where other words remain; in phrases they always stay
  /// errors: bad_data: what is wrong with the query
  Result<AskedQuery> read(std::string_view query, bool keeps_stop_words = false);

  /// Whether a text is a single stop word.
  bool is_stop_word(const std::string& text) const;

  /// The forms of all stop words.
  const std::set<std::string>& stop_forms();

 private:
  struct Text;
  struct AskedForms {
    std::vector<std::string> texts;
    bool are_at_one_place = false;  ///< an index may have several of them for the same word of a text
  };

  std::vector<Text> words_of(const std::string& text) const;
  bool is_stop_word(const Text& word) const;
  bool says_something(const QueryNode& node) const;
  bool add(const QueryNode& node, AskedQuery& asked, bool is_alternative, Condition& out);
  bool add_text(const QueryNode& node, AskedQuery& asked, bool is_alternative, Condition& out);
  bool add_near(const QueryNode& node, AskedQuery& asked, Condition& out);
  AskedForms forms_of(const std::string& folded);
  Condition phrase_of(const std::vector<Text>& words, ColumnSet columns, AskedQuery& asked);
  std::string beginning_of(const std::string& folded);

  WordKind kind_;
  std::vector<std::string> columns_;
  std::vector<WordForms> forms_;
  std::vector<StopWords> stop_words_;
  std::vector<std::string> languages_;
  std::set<std::string> stop_forms_;
  bool drops_stop_words_ = false;  ///< in the query that is being read
};

}  // namespace metafuse::fetchers
