#pragma once

// Which words a query in FTS5's language asks for, where it only asks for words: joined by AND (written or
// not), OR and NOT, in parentheses, in columns. Most queries do, and those can be ranked by the words' lists.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/embedded/posting_list.h"

namespace metafuse::fetchers {

/// Whether a byte stands in FTS5's words without quotes.
bool is_word_byte(char c);

/// Takes the next token of FTS5: a string with its quotes, a run of word characters, or one other character.
/// Requires that `rest` is not empty.
std::string_view next_token(std::string_view& rest);

/// A word that a query asks for, as it was typed.
struct QueryWord {
  std::string text;
  ColumnSet columns = kAllColumns;  ///< in which it counts

  friend bool operator==(const QueryWord&, const QueryWord&) = default;
};

/// A condition of a query: a word, or how others are joined.
struct QueryNode {
  enum class Kind { word, all, any, without };

  Kind kind = Kind::word;
  std::size_t word = 0;             ///< which one, in the query's order
  std::vector<QueryNode> children;  ///< two or more; of `without` the first must match, the second must not
};

struct WordQuery {
  std::vector<QueryWord> words;  ///< in the query's order
  QueryNode root;
};

constexpr std::size_t kMaxQueryWords = 60;

/// in:     columns - of the index, in their order
/// out:    nothing for a query that is no WordQuery (phrases, NEAR, prefixes, `a AND b OR c`, more than
///         kMaxQueryWords words), or that FTS5 does not understand. A text in quotes counts as one word; the
///         caller sees when it is several.
std::optional<WordQuery> read_word_query(std::string_view query, const std::vector<std::string>& columns);

}  // namespace metafuse::fetchers
