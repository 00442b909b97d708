#pragma once

#include <span>
#include <string_view>

namespace metafuse {

/// How an engine writes queries: which characters and words have a meaning, and how "all of these", "any of
/// these" and a phrase are said. An engine names its syntax (`query_syntax:` in engines.yaml); the search
/// templates use it so that no value can change the shape of a query.
struct QuerySyntax {
  std::string_view name;
  std::string_view meaning;  ///< the engines that speak it

  // What a value may not bring along.
  std::string_view stripped{};           ///< ASCII characters that become a blank
  std::string_view stripped_at_start{};  ///< removed where a word begins
  std::string_view stripped_at_end{};    ///< removed where a word ends
  std::string_view escaped{};            ///< get a backslash before them
  bool strips_ranges = false;            ///< ".." between two words becomes a blank

  // Words that are operators, separated by blanks, in capitals.
  std::string_view operators{};
  enum class OperatorGuard { lower, quote };
  OperatorGuard operator_guard = OperatorGuard::lower;  ///< how such a word is made an ordinary one
  bool operators_in_any_case = false;

  /// SQLite's rule: a word of other characters than letters, digits and _ stands in quotes.
  bool quotes_odd_words = false;

  // How filters are written: `all` is "<open>a<close><between><open>b<close>".
  std::string_view all_open = "+";
  std::string_view all_close{};
  std::string_view all_between = " ";
  std::string_view any_between = " OR ";
  std::string_view phrase_quote = "\"";
  bool has_groups = false;             ///< several joined words stand in parentheses
  bool groups_need_operators = false;  ///< a group beside a word, without an operator between, is a mistake
  bool or_binds_loosest = false;       ///< "a b OR c" is "(a b) OR c", and nothing can say otherwise

  // How the conditions of a typed query are written behind it; empty: the syntax cannot say it.
  std::string_view without = " -";  ///< before what no result may hold
  std::string_view site_field{};    ///< "site:" before a host
  std::string_view file_type_field{};
  std::string_view title_field{};
  std::string_view before_field{};  ///< before a date, YYYY-MM-DD
  std::string_view after_field{};
};

/// Every syntax, in the order of the docs. The first is the default: `+a +b`, `a OR b`, `"a b"`.
std::span<const QuerySyntax> query_syntaxes();

/// The syntax of engines that declare none.
const QuerySyntax& default_query_syntax();

/// nullptr when there is none of that name.
const QuerySyntax* find_query_syntax(std::string_view name);

/// True for a word that the syntax would read as an operator.
bool is_operator_word(const QuerySyntax& syntax, std::string_view word);

}  // namespace metafuse
