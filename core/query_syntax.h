#pragma once

#include <span>
#include <string_view>

namespace metafuse {

/// What is removed from or changed in a slot value.
struct QueryCleaning {
  std::string_view stripped{};           ///< ASCII characters that are replaced by a blank
  std::string_view stripped_at_start{};  ///< characters removed from the beginning of a word
  std::string_view stripped_at_end{};    ///< characters removed from the end of a word
  std::string_view escaped{};            ///< characters that get a backslash in front
  bool strips_ranges = false;            ///< ".." between two words is replaced by a blank
  /// SQLite's rule: a word with characters other than letters, digits and _ must be quoted.
  bool quotes_odd_words = false;
};

/// The words that act as operators.
struct QueryOperators {
  enum class Guard { lower, quote };

  std::string_view words{};      ///< in capitals, separated by blanks
  Guard guard = Guard::lower;    ///< how such a word is made ordinary
  bool are_in_any_case = false;  ///< small letters make operators too
};

/// How filters are written: "all of a, b" is "<all_open>a<all_close><all_between><all_open>b<all_close>".
struct QueryJoins {
  std::string_view all_open = "+";
  std::string_view all_close{};
  std::string_view all_between = " ";
  std::string_view any_between = " OR ";
  std::string_view phrase_quote = "\"";
  bool has_groups = false;             ///< several joined words may stand in parentheses
  bool groups_need_operators = false;  ///< a group beside a word needs an operator between them
  bool or_binds_loosest = false;       ///< "a b OR c" means "(a b) OR c", and parentheses cannot change that
};

/// How the conditions of a typed query are written after it; empty where the syntax cannot express one.
struct QueryFields {
  std::string_view without = " -";  ///< before a word that no result may contain
  std::string_view site{};          ///< "site:" before a host
  std::string_view file_type{};
  std::string_view title{};
  std::string_view before{};  ///< before a date, YYYY-MM-DD
  std::string_view after{};
};

/// How an engine's query language looks: which characters and words have a special meaning, and how "all of
/// these", "any of these" and a phrase are written. An engine names its syntax (`query_syntax:` in
/// engines.yaml). The search templates use it so that no slot value can act as an operator and change the
/// structure of a query.
struct QuerySyntax {
  std::string_view name;
  std::string_view meaning;  ///< the engines that use it
  QueryCleaning cleaning{};
  QueryOperators operators{};
  QueryJoins joins{};
  QueryFields fields{};
};

/// Every syntax, in the order of the documentation. The first is the default: `+a +b`, `a OR b`, `"a b"`.
std::span<const QuerySyntax> query_syntaxes();

/// The syntax of engines that do not declare one.
const QuerySyntax& default_query_syntax();

/// nullptr when there is no syntax of that name.
const QuerySyntax* find_query_syntax(std::string_view name);

/// True for a word that the syntax would read as an operator.
bool is_operator_word(const QuerySyntax& syntax, std::string_view word);

}  // namespace metafuse
