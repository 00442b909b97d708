#pragma once

// Queries of the embedded index, in the language of SQLite's FTS5: words and "phrases", AND, OR, NOT,
// parentheses, NEAR(a "b c", 5), beginnings of words (word*), and `column :` or `{column column} :` in front
// of any of these.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

/// Whether the byte may be part of an unquoted word.
bool is_word_byte(char c);

/// Removes the next token from `rest` and returns it: a string with its quotes, a run of word characters, or
/// one other character. Requires that `rest` is not empty.
std::string_view next_token(std::string_view& rest);

/// A condition as a query writes it.
struct QueryNode {
  enum class Kind { text, near, all, any, without };

  Kind kind = Kind::text;
  std::string text;                 ///< of a text: one word or several, as typed
  bool is_quoted = false;           ///< of a text
  bool is_beginning = false;        ///< of a text: its last word may go on
  ColumnSet columns = kAllColumns;  ///< of a text: where it counts
  std::size_t distance = 0;         ///< of `near`: at most so many words between its first and its last text
  /// Two or more; for `without`, the first must match and no other may. Those of `near` are texts.
  std::vector<QueryNode> children;
};

/// in:     columns - the index's, in order
/// errors: bad_data: what is wrong with the query
/// cost:   linear; nesting is limited to some hundred levels
Result<QueryNode> read_word_query(std::string_view query, const std::vector<std::string>& columns);

}  // namespace metafuse::fetchers
