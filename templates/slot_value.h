#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query_syntax.h"

namespace metafuse::templates {

/// A slot's value on its way into a query: words without operators, and how to join them.
struct SlotValue {
  enum class Join { plain, all, any };

  /// Words that belong together: a single word, or a phrase.
  struct Unit {
    std::vector<std::string> words;
    bool is_phrase = false;
    bool is_alternative = false;  ///< a result may have this unit or the previous one instead

    friend bool operator==(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  Join join = Join::plain;

  bool is_empty() const { return units.empty(); }
  friend bool operator==(const SlotValue&, const SlotValue&) = default;
};

/// Cleans a text: control and invisible characters are removed or become blanks, every kind of white space
/// becomes a plain blank, and typographic quotes and full-width punctuation become ASCII. The result is
/// always valid UTF-8.
std::string normalise_value(std::string_view text);

/// True when a normalised text contains a letter or digit of any script, or a symbol that people search for,
/// such as an emoji. Punctuation, arrows and signs such as "—", "…" or "•" are none.
bool has_letter(std::string_view normalised);

/// The words of a value, without anything that the syntax reads as an operator, unless the syntax can escape
/// it. Pieces without a letter or digit are dropped.
SlotValue words_of(std::string_view text, const QuerySyntax& syntax);

/// Writes the value as query text. in_quotes: it is inside a phrase of the template.
std::string write_value(const SlotValue& value, const QuerySyntax& syntax, bool in_quotes);

/// A row of the table of filters. A template applies one as `{SLOT|name}`.
struct Filter {
  std::string_view name;
  std::string_view meaning;
  /// True if the filter writes operators or quotes itself, so that it cannot be used inside a query's quotes.
  bool writes_operators = false;
  SlotValue (*apply)(SlotValue value) = nullptr;
};

/// All filters, in the order of the documentation.
std::span<const Filter> filters();

/// nullptr when there is no filter of that name.
const Filter* find_filter(std::string_view name);

}  // namespace metafuse::templates
