#include "templates/slot_value.h"

#include <algorithm>

#include "core/ascii.h"
#include "core/utf8.h"
#include "templates/code_points.h"

namespace metafuse::templates {
namespace {

constexpr char32_t kBlank = U' ';
constexpr char32_t kNothing = 0;

bool is_in_range(char32_t c, char32_t low, char32_t high) {
  return c >= low && c <= high;
}

bool is_blank(char32_t c) {
  return c <= 0x20 || is_in_range(c, 0x7F, 0xA0) || c == 0x1680 || is_in_range(c, 0x2000, 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 || c == 0xFFFC ||
         c == 0xFFFD;
}

bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x200B || c == 0x200E || c == 0x200F || is_in_range(c, 0x202A, 0x202E) ||
         is_in_range(c, 0x2060, 0x206F) || c == 0xFEFF || is_in_range(c, 0xFFF9, 0xFFFB) ||
         is_in_range(c, 0xE0000, 0xE0FFF);
}

bool is_double_quote(char32_t c) {
  return c == 0xAB || c == 0xBB || is_in_range(c, 0x201C, 0x201F) || c == 0x2033 || c == 0x2036 ||
         is_in_range(c, 0x301D, 0x301F) || c == 0xFF02;
}

bool is_full_width_punctuation(char32_t c) {
  return is_in_range(c, 0xFF01, 0xFF0F) || is_in_range(c, 0xFF1A, 0xFF20) || is_in_range(c, 0xFF3B, 0xFF40) ||
         is_in_range(c, 0xFF5B, 0xFF5E);
}

/// Joiners are part of words in some scripts and mean nothing elsewhere.
bool is_joiner(char32_t c) {
  return c == 0x200C || c == 0x200D;
}

char32_t normalised(char32_t c) {
  if (is_blank(c)) return kBlank;
  if (is_invisible(c)) return kNothing;
  if (is_double_quote(c)) return U'"';
  if (is_full_width_punctuation(c)) return c - 0xFEE0;
  if (c == 0x2212 || c == 0xFE63) return U'-';
  return c;
}

bool contains(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

std::string_view strip_ends(std::string_view word, const QuerySyntax& syntax) {
  while (!word.empty() && contains(syntax.stripped_at_start, word.front())) word.remove_prefix(1);
  while (!word.empty() && contains(syntax.stripped_at_end, word.back())) word.remove_suffix(1);
  return word;
}

void replace_with_blanks(std::string& text, const QuerySyntax& syntax) {
  for (char& c : text)
    if (contains(syntax.stripped, c)) c = ' ';
  if (!syntax.strips_ranges) return;
  for (std::size_t at = text.find(".."); at != std::string::npos; at = text.find("..", at))
    for (; at < text.size() && text[at] == '.'; ++at) text[at] = ' ';
}

bool is_bare_word(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string escaped(std::string_view word, const QuerySyntax& syntax) {
  std::string out;
  for (const char c : word) {
    if (contains(syntax.escaped, c)) out += '\\';
    out += c;
  }
  return out;
}

std::string write_word(std::string_view word, const QuerySyntax& syntax, bool in_quotes) {
  if (in_quotes) return escaped(word, syntax);
  const bool is_operator = is_operator_word(syntax, word);
  if (is_operator && syntax.operator_guard == QuerySyntax::OperatorGuard::lower) return ascii_lower(word);
  if (is_operator || (syntax.quotes_odd_words && !is_bare_word(word)))
    return '"' + escaped(word, syntax) + '"';
  return escaped(word, syntax);
}

std::string write_unit(const SlotValue::Unit& unit, const QuerySyntax& syntax, bool in_quotes) {
  const bool as_phrase = unit.is_phrase && !in_quotes && !syntax.phrase_quote.empty();
  std::string out;
  for (const std::string& word : unit.words)
    out += (out.empty() ? "" : " ") + write_word(word, syntax, in_quotes || as_phrase);
  if (as_phrase) return std::string(syntax.phrase_quote) + out + std::string(syntax.phrase_quote);
  return out;
}

/// A unit that every result must have.
std::string write_must(const SlotValue::Unit& unit, const QuerySyntax& syntax) {
  if (syntax.all_open == syntax.phrase_quote) return write_unit({unit.words, true}, syntax, false);
  return std::string(syntax.all_open) + write_unit(unit, syntax, false) + std::string(syntax.all_close);
}

}  // namespace

std::string normalise_value(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < valid.size();) {
    const char32_t c = normalised(next_code_point(valid, at));
    const bool follows_ascii = out.empty() || static_cast<unsigned char>(out.back()) < 0x80;
    if (c == kNothing || (is_joiner(c) && follows_ascii)) continue;
    append_code_point(out, c);
  }
  return out;
}

bool has_letter(std::string_view normalised_text) {
  return std::any_of(normalised_text.begin(), normalised_text.end(),
                     [](char c) { return c != '_' && is_bare_word(std::string_view(&c, 1)); });
}

SlotValue words_of(std::string_view text, const QuerySyntax& syntax) {
  std::string normal = normalise_value(text);
  replace_with_blanks(normal, syntax);
  SlotValue value;
  for (std::size_t begin = 0; begin < normal.size();) {
    const std::size_t end = std::min(normal.find(' ', begin), normal.size());
    const std::string_view word = strip_ends(std::string_view(normal).substr(begin, end - begin), syntax);
    if (has_letter(word)) value.units.push_back({{std::string(word)}, false});
    begin = end + 1;
  }
  return value;
}

std::string write_value(const SlotValue& value, const QuerySyntax& syntax, bool in_quotes) {
  const bool is_all = value.join == SlotValue::Join::all && !in_quotes;
  const bool is_any = value.join == SlotValue::Join::any && !in_quotes;
  const std::string_view between = is_all ? syntax.all_between : is_any ? syntax.any_between : " ";
  std::string out;
  for (std::size_t i = 0; i < value.units.size(); ++i) {
    if (i > 0) out += between;
    out += is_all ? write_must(value.units[i], syntax) : write_unit(value.units[i], syntax, in_quotes);
  }
  // "+a +b" needs no parentheses and would lose its force inside them.
  const bool is_infix = is_any || (is_all && syntax.all_between != " ");
  return is_infix && syntax.has_groups && value.units.size() > 1 ? '(' + out + ')' : out;
}

}  // namespace metafuse::templates
