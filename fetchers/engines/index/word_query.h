#pragma once

// Parses queries in FTS5's language that consist of words only: joined by AND (explicit or implied), OR and
// NOT, with parentheses and column filters. Most queries are like this, and can be ranked by the words'
// posting lists.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

/// Whether FTS5 allows the byte in an unquoted word.
bool is_word_byte(char c);

/// Removes the next FTS5 token from `rest` and returns it: a string with its quotes, a run of word
/// characters, or one other character. Requires that `rest` is not empty.
std::string_view next_token(std::string_view& rest);

/// A word that a query asks for, as it was typed.
struct QueryWord {
  std::string text;
  ColumnSet columns = kAllColumns;  ///< the columns in which it counts

  friend bool operator==(const QueryWord&, const QueryWord&) = default;
};

/// A condition of a query: a word, or a combination of other conditions.
struct QueryNode {
  enum class Kind { word, all, any, without };

  Kind kind = Kind::word;
  std::size_t word = 0;  ///< index into WordQuery::words
  /// Two or more; for `without`, the first must match and the second must not.
  std::vector<QueryNode> children;
};

struct WordQuery {
  std::vector<QueryWord> words;  ///< in the query's order
  QueryNode root;
};

constexpr std::size_t kMaxQueryWords = 60;

/// in:     columns - the index's, in order
/// out:    nullopt for a query with other parts (phrases, NEAR, prefixes, `a AND b OR c`, more than
///         kMaxQueryWords words), or one that FTS5 does not understand. A quoted text counts as one word; the
///         caller must check that the tokenizer makes one word of it.
std::optional<WordQuery> read_word_query(std::string_view query, const std::vector<std::string>& columns);

}  // namespace metafuse::fetchers
