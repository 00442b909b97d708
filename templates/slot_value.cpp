#include "templates/slot_value.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/text.h"

namespace metafuse::templates {
namespace {

bool is_within(char32_t c, char32_t low, char32_t high) {
  return c >= low && c <= high;
}

/// Blocks in which capitals have even code points and the small letter follows its capital.
bool is_even_capital(char32_t c) {
  return c % 2 == 0 &&
         (is_within(c, 0x100, 0x137) || is_within(c, 0x14A, 0x177) || is_within(c, 0x460, 0x481) ||
          is_within(c, 0x48A, 0x4BF) || is_within(c, 0x4D0, 0x52F) || is_within(c, 0x1E00, 0x1E95) ||
          is_within(c, 0x1EA0, 0x1EFF)) &&
         c != 0x130;
}

/// Blocks in which capitals have odd code points and the small letter follows its capital.
bool is_odd_capital(char32_t c) {
  return c % 2 == 1 &&
         (is_within(c, 0x139, 0x148) || is_within(c, 0x179, 0x17E) || is_within(c, 0x4C1, 0x4CE));
}

/// The small letter of a Latin, Greek, Cyrillic or Armenian capital; other characters are returned unchanged.
/// Independent of the machine's locale.
char32_t to_lower(char32_t c) {
  if (is_within(c, U'A', U'Z') || (is_within(c, 0xC0, 0xDE) && c != 0xD7)) return c + 0x20;
  if (is_even_capital(c) || is_odd_capital(c)) return c + 1;
  if (c == 0x178) return 0xFF;
  if (c == 0x386) return 0x3AC;
  if (is_within(c, 0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (c == 0x38E || c == 0x38F) return c + 63;
  if (is_within(c, 0x391, 0x3AB) && c != 0x3A2) return c + 0x20;
  if (is_within(c, 0x400, 0x40F)) return c + 0x50;
  if (is_within(c, 0x410, 0x42F)) return c + 0x20;
  if (c == 0x4C0) return 0x4CF;
  if (is_within(c, 0x531, 0x556)) return c + 0x30;
  return c;
}

constexpr char32_t kBlank = U' ';
constexpr char32_t kNothing = 0;

bool is_blank(char32_t c) {
  return c <= 0x20 || is_within(c, 0x7F, 0xA0) || c == 0x1680 || is_within(c, 0x2000, 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 || c == 0xFFFC ||
         c == 0xFFFD;
}

bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x200B || c == 0x200E || c == 0x200F || is_within(c, 0x202A, 0x202E) ||
         is_within(c, 0x2060, 0x206F) || c == 0xFEFF || is_within(c, 0xFFF9, 0xFFFB) ||
         is_within(c, 0xE0000, 0xE0FFF);
}

bool is_double_quote(char32_t c) {
  return c == 0xAB || c == 0xBB || is_within(c, 0x201C, 0x201F) || c == 0x2033 || c == 0x2036 ||
         is_within(c, 0x301D, 0x301F) || c == 0xFF02;
}

bool is_full_width_punctuation(char32_t c) {
  return is_within(c, 0xFF01, 0xFF0F) || is_within(c, 0xFF1A, 0xFF20) || is_within(c, 0xFF3B, 0xFF40) ||
         is_within(c, 0xFF5B, 0xFF5E);
}

/// Joiners are part of words in some scripts and have no meaning in others.
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

/// Blocks, and pieces of blocks, of punctuation, arrows, lines and mathematical signs beyond ASCII, in order.
/// Everything else beyond ASCII counts as a part of words.
constexpr std::pair<char32_t, char32_t> kSigns[] = {
    {0x80, 0xA9},     {0xAB, 0xB1},     {0xB4, 0xB4},     {0xB6, 0xB8},     {0xBB, 0xBB},
    {0xBF, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},     {0x37E, 0x37E},   {0x387, 0x387},
    {0x55A, 0x55F},   {0x589, 0x58A},   {0x5BE, 0x5BE},   {0x5C0, 0x5C0},   {0x5C3, 0x5C3},
    {0x5F3, 0x5F4},   {0x60C, 0x60D},   {0x61B, 0x61F},   {0x66A, 0x66D},   {0x6D4, 0x6D4},
    {0x964, 0x965},   {0xE4F, 0xE4F},   {0xE5A, 0xE5B},   {0x2000, 0x206F}, {0x20A0, 0x20CF},
    {0x2190, 0x245F}, {0x2500, 0x25FF}, {0x2768, 0x2775}, {0x2794, 0x27FF}, {0x2900, 0x2B4F},
    {0x2E00, 0x2E7F}, {0x3000, 0x3004}, {0x3008, 0x3020}, {0x3030, 0x3030}, {0x303D, 0x303F},
    {0x30A0, 0x30A0}, {0x30FB, 0x30FB}, {0xFD3E, 0xFD3F}, {0xFE10, 0xFE19}, {0xFE30, 0xFE6B},
    {0xFF5F, 0xFF65}, {0xFFE0, 0xFFEE},
};

bool is_part_of_words(char32_t c) {
  if (c < 0x80) return is_ascii_letter_or_digit(static_cast<char>(c));
  const auto* const at = std::find_if(std::begin(kSigns), std::end(kSigns),
                                      [&](const auto& signs) { return c <= signs.second; });
  return at == std::end(kSigns) || c < at->first;
}

bool contains(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

std::string_view strip_ends(std::string_view word, const QuerySyntax& syntax) {
  while (!word.empty() && contains(syntax.cleaning.stripped_at_start, word.front())) word.remove_prefix(1);
  while (!word.empty() && contains(syntax.cleaning.stripped_at_end, word.back())) word.remove_suffix(1);
  return word;
}

void replace_with_blanks(std::string& text, const QuerySyntax& syntax) {
  for (char& c : text)
    if (contains(syntax.cleaning.stripped, c)) c = ' ';
  if (!syntax.cleaning.strips_ranges) return;
  for (std::size_t at = text.find(".."); at != std::string::npos; at = text.find("..", at))
    for (; at < text.size() && text[at] == '.'; ++at) text[at] = ' ';
}

bool is_bare_word(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return is_ascii_letter_or_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string escaped(std::string_view word, const QuerySyntax& syntax) {
  std::string out;
  for (const char c : word) {
    if (contains(syntax.cleaning.escaped, c)) out += '\\';
    out += c;
  }
  return out;
}

/// Filters may have removed what stood before or after an operator, so the ends are stripped again.
std::string write_word(std::string_view word, const QuerySyntax& syntax, bool in_quotes) {
  word = strip_ends(word, syntax);
  if (in_quotes) return escaped(word, syntax);
  const bool is_operator = is_operator_word(syntax, word);
  if (is_operator && syntax.operators.guard == QueryOperators::Guard::lower) return ascii_lower(word);
  if (is_operator || (syntax.cleaning.quotes_odd_words && !is_bare_word(word)))
    return '"' + escaped(word, syntax) + '"';
  return escaped(word, syntax);
}

std::string write_unit(const SlotValue::Unit& unit, const QuerySyntax& syntax, bool in_quotes) {
  const bool as_phrase = unit.is_phrase && !in_quotes && !syntax.joins.phrase_quote.empty();
  std::string out;
  for (const std::string& word : unit.words)
    out += (out.empty() ? "" : " ") + write_word(word, syntax, in_quotes || as_phrase);
  if (as_phrase) return std::string(syntax.joins.phrase_quote) + out + std::string(syntax.joins.phrase_quote);
  return out;
}

/// Writes a unit that every result must contain.
std::string write_must(const SlotValue::Unit& unit, const QuerySyntax& syntax) {
  if (syntax.joins.all_open == syntax.joins.phrase_quote)
    return write_unit({unit.words, true}, syntax, false);
  return std::string(syntax.joins.all_open) + write_unit(unit, syntax, false) +
         std::string(syntax.joins.all_close);
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
  for (std::size_t at = 0; at < normalised_text.size();)
    if (is_part_of_words(next_code_point(normalised_text, at))) return true;
  return false;
}

SlotValue words_of(std::string_view text, const QuerySyntax& syntax) {
  std::string normal = normalise_value(text);
  replace_with_blanks(normal, syntax);
  SlotValue value;
  for (std::string_view rest = normal; !rest.empty();) {
    const std::string_view word = strip_ends(take_until(rest, ' '), syntax);
    if (has_letter(word)) value.units.push_back({{std::string(word)}, false});
  }
  return value;
}

namespace {

using Units = std::span<const SlotValue::Unit>;

/// The number of units from `begin` on that are alternatives of each other.
std::size_t alternatives_at(Units units, std::size_t begin) {
  std::size_t count = 1;
  while (begin + count < units.size() && units[begin + count].is_alternative) ++count;
  return count;
}

/// Whether the syntax reads "a or b" among other words as intended.
bool can_write_alternatives(const SlotValue& value, const QuerySyntax& syntax) {
  const bool is_all = value.join == SlotValue::Join::all;
  const bool stands_alone = alternatives_at(value.units, 0) == value.units.size();
  if (syntax.joins.groups_need_operators && !is_all) return false;
  return stands_alone || !syntax.joins.or_binds_loosest;
}

/// Writes "(a OR b)"; every result must contain at least one of the units.
std::string write_alternatives(Units units, const QuerySyntax& syntax, bool is_all) {
  std::string out;
  for (const SlotValue::Unit& unit : units)
    out += std::string(out.empty() ? "" : syntax.joins.any_between) + write_unit(unit, syntax, false);
  if (!syntax.joins.has_groups) return out;
  const bool has_must_sign = is_all && syntax.joins.all_open != syntax.joins.phrase_quote;
  return std::string(has_must_sign ? syntax.joins.all_open : "") + '(' + out + ')';
}

}  // namespace

std::string write_value(const SlotValue& value, const QuerySyntax& syntax, bool in_quotes) {
  const bool is_all = value.join == SlotValue::Join::all && !in_quotes;
  const bool is_any = value.join == SlotValue::Join::any && !in_quotes;
  const bool has_alternatives = !is_any && !in_quotes && can_write_alternatives(value, syntax);
  const std::string_view between = is_all   ? syntax.joins.all_between
                                   : is_any ? syntax.joins.any_between
                                            : " ";
  std::string out;
  std::size_t written = 0;
  for (std::size_t i = 0; i < value.units.size(); ++written) {
    const std::size_t count = has_alternatives ? alternatives_at(value.units, i) : 1;
    const SlotValue::Unit& unit = value.units[i];
    if (i > 0) out += between;
    if (count > 1)
      out += write_alternatives(Units(value.units).subspan(i, count), syntax, is_all);
    else
      out += is_all ? write_must(unit, syntax) : write_unit(unit, syntax, in_quotes);
    i += count;
  }
  // "+a +b" needs no parentheses, and inside them the signs would lose their effect.
  const bool is_infix = is_any || (is_all && syntax.joins.all_between != " ");
  return is_infix && syntax.joins.has_groups && written > 1 ? '(' + out + ')' : out;
}

namespace {

std::vector<std::string> all_words(const SlotValue& value) {
  std::vector<std::string> words;
  for (const SlotValue::Unit& unit : value.units)
    words.insert(words.end(), unit.words.begin(), unit.words.end());
  return words;
}

SlotValue apart(std::vector<std::string> words, SlotValue::Join join) {
  SlotValue value;
  value.join = join;
  for (std::string& word : words) value.units.push_back({{std::move(word)}, false});
  return value;
}

/// A word without the sentence punctuation around it; C++ and .NET keep theirs.
std::string without_punctuation(std::string_view word) {
  constexpr std::string_view kAtStart = "'`,;:!?([{";
  constexpr std::string_view kAtEnd = "'`,;:!?)]}.";
  while (!word.empty() && kAtStart.find(word.front()) != std::string_view::npos) word.remove_prefix(1);
  while (!word.empty() && kAtEnd.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return std::string(word);
}

SlotValue words(SlotValue value) {
  std::vector<std::string> kept;
  for (const std::string& word : all_words(value))
    if (std::string bare = without_punctuation(word); has_letter(bare)) kept.push_back(std::move(bare));
  return apart(std::move(kept), value.join);
}

SlotValue all(SlotValue value) {
  value.join = SlotValue::Join::all;
  return value;
}

SlotValue any(SlotValue value) {
  value.join = SlotValue::Join::any;
  return value;
}

SlotValue phrase(SlotValue value) {
  if (!value.is_empty()) value.units = {{all_words(value), true}};
  return value;
}

SlotValue first(SlotValue value) {
  if (value.is_empty()) return value;
  return apart({all_words(value).front()}, value.join);
}

SlotValue last(SlotValue value) {
  if (value.is_empty()) return value;
  return apart({all_words(value).back()}, value.join);
}

SlotValue short_value(SlotValue value) {
  constexpr std::size_t kFewest = 2;
  constexpr std::size_t kMost = 4;
  const std::size_t count = all_words(value).size();
  if (count < kFewest || count > kMost) value.units.clear();
  return value;
}

/// The first letter or digit of a word; empty if there is none.
std::string initial_of(std::string_view word) {
  for (std::size_t at = 0; at < word.size();) {
    std::string letter;
    append_code_point(letter, next_code_point(word, at));
    if (has_letter(letter)) return letter;
  }
  return {};
}

SlotValue initials(SlotValue value) {
  if (value.is_empty()) return value;
  std::string letters;
  for (const std::string& word : all_words(value)) letters += initial_of(word);
  return apart({std::move(letters)}, value.join);
}

SlotValue lower(SlotValue value) {
  for (SlotValue::Unit& unit : value.units)
    for (std::string& word : unit.words) {
      std::string lowered;
      for (std::size_t at = 0; at < word.size();)
        append_code_point(lowered, to_lower(next_code_point(word, at)));
      word = std::move(lowered);
    }
  return value;
}

constexpr std::array kFilters = {
    Filter{"words", "each word separately, without the punctuation around it", false, words},
    Filter{"all", "every word is required: +a +b", true, all},
    Filter{"any", "one of the words is required: a OR b", true, any},
    Filter{"phrase", "the words in this order: \"a b\"", true, phrase},
    Filter{"first", "the first word", false, first},
    Filter{"last", "the last word", false, last},
    Filter{"initials", "the first letters of the words: Joe Researcher becomes JR", false, initials},
    Filter{"short", "all words if they are two to four, else nothing", false, short_value},
    Filter{"lower", "lower case", false, lower},
};

}  // namespace

std::span<const Filter> filters() {
  return kFilters;
}

const Filter* find_filter(std::string_view name) {
  for (const Filter& filter : kFilters)
    if (filter.name == name) return &filter;
  return nullptr;
}

}  // namespace metafuse::templates
