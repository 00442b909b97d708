#pragma once

// Typed queries can contain more than words: "a phrase", -word, a OR b, site:, filetype:, intitle:, before:
// and after:. They are parsed once, here. Template filters see the plain words. Each engine receives the
// conditions in the syntax that it declares. The code that shows results checks the conditions that no engine
// could express.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/query_syntax.h"
#include "templates/slot_value.h"

namespace metafuse::templates {

inline constexpr std::size_t kMostConditions = 32;
/// The longest query that plain_base_query() takes.
inline constexpr std::size_t kMaxTypedBytes = 4096;

/// One requirement of a typed query beyond plain words.
struct Condition {
  enum class Kind {
    phrase,
    any,  ///< one of several words or phrases
    excluded,
    in_title,
    not_in_title,
    site,  ///< several of these are alternatives
    not_site,
    file_type,  ///< several of these are alternatives
    not_file_type,
    before,
    after
  };

  Kind kind = Kind::phrase;
  /// Depending on the kind: words without quotes; a lower-case host in ASCII form with an optional path; a
  /// lower-case file extension; YYYY-MM-DD; the alternatives, joined by " OR ".
  std::string value;
  std::size_t begin = 0;  ///< its position in TypedQuery::text
  std::size_t end = 0;
  /// Its position with the OR that would join nothing without it.
  std::size_t begin_with_or = 0;
  std::size_t end_with_or = 0;

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// A word or phrase to search for.
struct TypedTerm {
  std::string text;
  bool is_phrase = false;
  bool is_alternative = false;  ///< this or the previous term

  friend bool operator==(const TypedTerm&, const TypedTerm&) = default;
};

/// A parsed query. Callers must refuse one with more than kMostConditions.
struct TypedQuery {
  std::string text;  ///< as typed, after normalise_value()
  std::vector<TypedTerm> terms;
  std::vector<Condition> conditions;  ///< in the order of the text

  /// The plain words, which fill a slot.
  std::string words() const;
  /// The text without one condition. An excluded word, a site or a date disappears; of a phrase or of
  /// alternatives, the plain words remain. All other conditions hold as before, and none is added.
  std::string text_without(const Condition& condition) const;
  friend bool operator==(const TypedQuery&, const TypedQuery&) = default;
};

/// Parses a query as typed. Every text is accepted: anything that is not a condition is words, such as
/// `before:noon`, an unclosed quote, or "OR" without a word on both sides. With a minus in front, it is what
/// no result may contain: words are never taken from it. Punctuation after a field's value is ignored.
///
/// cost:   O(bytes)
TypedQuery parse_typed_query(std::string_view text);

/// The terms as a slot's value: phrases and alternatives are units, which filters can keep or split.
SlotValue value_of(const TypedQuery& typed, const QuerySyntax& syntax);

/// Appends to a query those conditions that the syntax can express and the query does not contain yet. An
/// empty query stays empty.
std::string with_conditions(std::string query, const TypedQuery& typed, const QuerySyntax& syntax);

/// Whether the syntax can express the condition, so that engines using it are sent it.
bool can_say(const QuerySyntax& syntax, Condition::Kind kind);

}  // namespace metafuse::templates
