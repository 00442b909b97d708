#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query_syntax.h"

namespace metafuse::templates {

/// A slot's value on its way into a query: words without any operator, and how they will be written.
struct SlotValue {
  enum class Join { plain, all, any };

  /// Words that stay together: one word, or a phrase.
  struct Unit {
    std::vector<std::string> words;
    bool is_phrase = false;
    bool is_alternative = false;  ///< this one or the unit before it must be there

    friend bool operator==(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  Join join = Join::plain;

  bool is_empty() const { return units.empty(); }
  friend bool operator==(const SlotValue&, const SlotValue&) = default;
};

/// The text with control characters, invisible characters and every kind of blank as plain blanks or nothing,
/// and typographic quotes and full-width punctuation as their ASCII forms. Always valid UTF-8.
std::string normalise_value(std::string_view text);

/// True when a normalised text holds a letter or digit of any script.
bool has_letter(std::string_view normalised);

/// The words of a value, without what the syntax reads as operators unless it has a way to write it escaped.
/// Pieces without a letter or digit are left out.
SlotValue words_of(std::string_view text, const QuerySyntax& syntax);

/// The value as query text. in_quotes: it stands inside a phrase of the template.
std::string write_value(const SlotValue& value, const QuerySyntax& syntax, bool in_quotes);

/// A row of the table of filters: `{SLOT|name}`.
struct Filter {
  std::string_view name;
  std::string_view meaning;
  /// Writes operators or quotes of its own, so it cannot stand inside a query's quotes.
  bool writes_operators = false;
  SlotValue (*apply)(SlotValue value) = nullptr;
};

/// All filters, in the order of the docs.
std::span<const Filter> filters();

/// nullptr when there is none of that name.
const Filter* find_filter(std::string_view name);

}  // namespace metafuse::templates
