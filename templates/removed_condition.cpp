#include <algorithm>
#include <string>
#include <string_view>

#include "core/text.h"
#include "templates/typed_query.h"

// The text of a typed query without one of its conditions.

namespace metafuse::templates {
namespace {

using Kind = Condition::Kind;

/// What remains of a phrase, of alternatives or of a title's words: words that are no conditions.
std::string plain_words_of(const Condition& condition) {
  if (condition.kind != Kind::phrase && condition.kind != Kind::in_title && condition.kind != Kind::any)
    return {};
  const QuerySyntax& syntax = default_query_syntax();
  std::string out;
  for (const SlotValue::Unit& unit : words_of(condition.value, syntax).units)
    for (const std::string& word : unit.words)
      if (!is_operator_word(syntax, word))
        out += ' ' + word;
      else if (condition.kind != Kind::any)
        out += ' ' + ascii_lower(word);
  return out;
}

bool is_word_end(std::string_view text, std::size_t at) {
  return at >= text.size() || text[at] == ' ' || text[at] == '"';
}

/// The bytes of the OR that stands at a place of the text; 0 if there is none.
std::size_t or_at(std::string_view text, std::size_t at) {
  for (const std::string_view mark : {"OR", "|"})
    if (text.substr(at, mark.size()) == mark && is_word_end(text, at + mark.size()) &&
        (at == 0 || is_word_end(text, at - 1)))
      return mark.size();
  return 0;
}

void unmake_or(std::string& text, std::size_t at, std::size_t bytes) {
  for (std::size_t i = at; i < at + bytes; ++i) text[i] = text[i] == '|' ? ' ' : ascii_lower(text[i]);
}

// An OR that joins nothing may join something once what stood beside it is gone, so it becomes an ordinary
// word. Those inside other conditions stay.

/// in: last - where the next condition begins; an OR there is a word already
void unmake_ors_at_start(std::string& text, std::size_t last) {
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) <= last;) {
    const std::size_t bytes = or_at(text, at);
    if (bytes == 0) return;
    unmake_or(text, at, bytes);
    at += bytes;
  }
}

/// in: begin - where the condition before ends
void unmake_ors_at_end(std::string& text, std::size_t begin) {
  for (std::size_t end = text.size(); end > begin;) {
    end = std::max(begin, text.find_last_not_of(' ', end - 1) + 1);
    std::size_t bytes = std::min(end - begin, std::string_view("OR").size());
    while (bytes > 0 && or_at(text, end - bytes) != bytes) --bytes;
    if (bytes == 0) return;
    unmake_or(text, end - bytes, bytes);
    end -= bytes;
  }
}

}  // namespace

std::string TypedQuery::text_without(const Condition& condition) const {
  std::string before = text.substr(0, condition.begin_with_or);
  std::string after = text.substr(condition.end_with_or);
  const auto at = std::find(conditions.begin(), conditions.end(), condition);
  const bool has_next = at != conditions.end() && at + 1 != conditions.end();
  unmake_ors_at_end(before, at == conditions.begin() || at == conditions.end() ? 0 : (at - 1)->end);
  const bool is_joined_to_last = condition.begin_with_or < condition.begin;
  if (!is_joined_to_last)
    unmake_ors_at_start(after, has_next ? (at + 1)->begin - condition.end_with_or : after.size());
  std::string out;
  for (const std::string& part : {before, plain_words_of(condition), after})
    if (const std::string_view words = ascii_trimmed(part); !words.empty())
      out += (out.empty() ? "" : " ") + std::string(words);
  return out;
}

}  // namespace metafuse::templates
