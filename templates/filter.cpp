#include "templates/filter.h"

#include <array>

#include "templates/code_points.h"

namespace metafuse::templates {
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

/// A word without the punctuation of a sentence around it; C++ and .NET keep theirs.
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

/// The first letter or digit of a word, or nothing.
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
    Filter{"words", "each word apart, without the punctuation around it", false, words},
    Filter{"all", "every word must be there: +a +b", true, all},
    Filter{"any", "one of the words must be there: a OR b", true, any},
    Filter{"phrase", "the words in this order: \"a b\"", true, phrase},
    Filter{"first", "the first word", false, first},
    Filter{"last", "the last word", false, last},
    Filter{"initials", "the first letters of the words: Joe Researcher becomes JR", false, initials},
    Filter{"lower", "small letters", false, lower},
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
