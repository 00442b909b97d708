#pragma once

// What a person types means more than its words: "a phrase", -word, a OR b, site:, filetype:, intitle:,
// before: and after:. It is read once, here. Template filters see the plain words, every engine gets the
// conditions in the syntax that it declares, and whoever shows results checks what no engine could.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/query_syntax.h"
#include "templates/slot_value.h"

namespace metafuse::templates {

inline constexpr std::size_t kMostConditions = 32;

/// One thing beyond plain words that a typed query asks for.
struct Condition {
  enum class Kind {
    phrase,
    any,  ///< one of several words or phrases
    excluded,
    in_title,
    not_in_title,
    site,  ///< several: one of them
    not_site,
    file_type,  ///< several: one of them
    not_file_type,
    before,
    after
  };

  Kind kind = Kind::phrase;
  /// Words without quotes; a host in small letters, and a path; an ending in small letters; YYYY-MM-DD; the
  /// alternatives, joined by " OR ".
  std::string value;
  std::size_t begin = 0;  ///< where it stands in TypedQuery::text
  std::size_t end = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// A word or phrase to search for.
struct TypedTerm {
  std::string text;
  bool is_phrase = false;
  bool is_alternative = false;  ///< this one or the term before it

  friend bool operator==(const TypedTerm&, const TypedTerm&) = default;
};

/// A query as typed, read. Who searches with it refuses more than kMostConditions.
struct TypedQuery {
  std::string text;  ///< as typed, normalised: normalise_value()
  std::vector<TypedTerm> terms;
  std::vector<Condition> conditions;  ///< in the order of the text

  /// The words alone: what a slot is filled with.
  std::string words() const;
  /// The text without one condition: an excluded word, a site, a date are gone; of a phrase and of
  /// alternatives the words stay.
  std::string text_without(const Condition& condition) const;
  friend bool operator==(const TypedQuery&, const TypedQuery&) = default;
};

/// Reads a query as typed. There is no text that it refuses: what is no condition is words, such as
/// `before:noon`, a quote that is not closed, and "OR" without a word on both sides.
///
/// cost: O(bytes)
TypedQuery parse_typed_query(std::string_view text);

/// The terms as a slot's value: phrases and alternatives are units that filters can keep or take apart.
SlotValue value_of(const TypedQuery& typed, const QuerySyntax& syntax);

/// A query with the conditions behind it that the syntax can say and the query does not say yet. An empty
/// query stays empty.
std::string with_conditions(std::string query, const TypedQuery& typed, const QuerySyntax& syntax);

/// Whether an engine of that syntax was told the condition.
bool can_say(const QuerySyntax& syntax, Condition::Kind kind);

}  // namespace metafuse::templates
