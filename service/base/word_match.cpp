#include "service/base/word_match.h"

#include <algorithm>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include "core/text.h"

namespace metafuse::service {
namespace {

UChar32 as_icu(char32_t c) {
  return static_cast<UChar32>(c);
}

bool is_mark(char32_t c) {
  constexpr auto kMarks = U_GC_MN_MASK | U_GC_MC_MASK | U_GC_ME_MASK;
  return c >= 0x300 && (U_GET_GC_MASK(as_icu(c)) & kMarks) != 0;
}

/// The letter in lower case and without accents; ' ' for white space.
char32_t folded_letter(char32_t c) {
  if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + 0x20 : c <= 0x20 ? U' ' : c;
  if (u_isUWhiteSpace(as_icu(c))) return U' ';
  UErrorCode status = U_ZERO_ERROR;
  static const icu::Normalizer2* form = icu::Normalizer2::getNFKDInstance(status);
  icu::UnicodeString parts;
  if (form != nullptr && form->getDecomposition(as_icu(c), parts) && !parts.isEmpty())
    c = static_cast<char32_t>(parts.char32At(0));
  return static_cast<char32_t>(u_foldCase(as_icu(c), U_FOLD_CASE_DEFAULT));
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= U'a' && c <= U'z') || (c >= U'0' && c <= U'9');
  return u_isalnum(as_icu(c)) || is_mark(c);
}

/// Whether a letter is of a script written without blanks, in which a word may end anywhere.
bool needs_no_blank(char32_t c) {
  if (c < 0xE00) return false;
  const UScriptCode script = [c] {
    UErrorCode status = U_ZERO_ERROR;
    return uscript_getScript(as_icu(c), &status);
  }();
  return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
         script == USCRIPT_THAI || script == USCRIPT_LAO || script == USCRIPT_KHMER ||
         script == USCRIPT_MYANMAR;
}

/// Whether a word may end between two letters.
bool is_boundary(char32_t a, char32_t b) {
  return !is_letter(a) || !is_letter(b) || needs_no_blank(a) || needs_no_blank(b);
}

}  // namespace

std::vector<std::string> word_forms(const std::string& word) {
  constexpr std::size_t kShortestPlural = 4;
  if (word.size() < kShortestPlural || word.find(' ') != std::string::npos) return {word};
  return {word, word.ends_with('s') ? word.substr(0, word.size() - 1) : word + 's'};
}

std::string folded_text(std::string_view text) {
  std::string out;
  if (first_invalid_utf8(text) != std::string::npos) return out;
  for (std::size_t at = 0; at < text.size();)
    if (const char32_t c = next_code_point(text, at); !is_mark(c)) append_code_point(out, folded_letter(c));
  return out;
}

FoldedText::FoldedText(std::string_view text) {
  if (first_invalid_utf8(text) != std::string::npos) return;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    const char32_t c = next_code_point(text, at);
    const auto end = static_cast<std::uint32_t>(at);
    if (is_mark(c) && !letters_.empty())
      letters_.back().end = end;
    else
      letters_.push_back({folded_letter(c), begin, end});
  }
}

std::size_t FoldedText::match_at(std::size_t at, const FoldedText& words) const {
  const std::size_t begin = at;
  const auto& wanted = words.letters_;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].c == U' ') {
      const std::size_t gap = at;
      while (at < letters_.size() && !is_letter(letters_[at].c)) ++at;
      if (at == gap) return 0;
      while (i + 1 < wanted.size() && wanted[i + 1].c == U' ') ++i;
      continue;
    }
    if (at >= letters_.size() || letters_[at].c != wanted[i].c) return 0;
    ++at;
  }
  return at - begin;
}

std::vector<TextRange> FoldedText::find(const FoldedText& words) const {
  std::vector<TextRange> out;
  const auto& wanted = words.letters_;
  if (std::none_of(wanted.begin(), wanted.end(), [](const Letter& one) { return is_letter(one.c); }))
    return out;
  for (std::size_t at = 0; at < letters_.size();) {
    const bool begins = at == 0 || is_boundary(letters_[at - 1].c, letters_[at].c);
    const std::size_t length = begins && letters_[at].c == wanted.front().c ? match_at(at, words) : 0;
    const std::size_t end = at + length;
    if (length == 0 || (end < letters_.size() && !is_boundary(letters_[end - 1].c, letters_[end].c))) {
      ++at;
      continue;
    }
    out.push_back({letters_[at].begin, letters_[end - 1].end});
    at = end;
  }
  return out;
}

bool FoldedText::contains(const FoldedText& words) const {
  return !find(words).empty();
}

std::vector<TextRange> word_ranges(std::string_view text, std::span<const FoldedText> words) {
  const FoldedText folded(text);
  std::vector<TextRange> all;
  for (const FoldedText& word : words) {
    const auto found = folded.find(word);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::sort(all.begin(), all.end(), [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
  std::vector<TextRange> out;
  for (const TextRange& range : all) {
    const bool is_next_word =
        !out.empty() && range.begin == out.back().end + 1 && text[out.back().end] == ' ';
    if (!out.empty() && (range.begin <= out.back().end || is_next_word))
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  }
  return out;
}

}  // namespace metafuse::service
