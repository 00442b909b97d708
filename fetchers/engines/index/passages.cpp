#include "fetchers/engines/index/passages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <unicode/brkiter.h>
#include <unicode/unistr.h>

#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::size_t kMostMatches = 20'000;
constexpr std::size_t kAround = 400;  ///< bytes before and behind a match in which sentences are looked for
constexpr std::size_t kBeforeMatch = 60;  ///< bytes shown before the first match inside a long sentence

/// Where a text has a word of the query.
struct Match {
  std::size_t begin = 0, end = 0;
  int number = 0;
  std::size_t place = 0;  ///< how many words precede it
};

std::vector<Match> matches_in(std::string_view text, PassageWords& words) {
  std::vector<Match> out;
  std::size_t place = 0;
  for (WordCutter cutter(text); cutter.next() && out.size() < kMostMatches; ++place)
    if (const int number = words.number_of(cutter.word()); number >= 0)
      out.push_back({cutter.begin(), cutter.end(), number, place});
  return out;
}

/// The matches [first, last) of a passage.
struct Span {
  std::size_t first = 0, last = 0;
};

/// Slides a window of `max_bytes` over the matches.
Span best_span(const std::vector<Match>& matches, const PassageWords& words, std::size_t max_bytes) {
  constexpr double kRepeated = 0.05;  // what a word adds that the window has already, as a share
  constexpr double kNeighbour = 0.25;
  std::vector<std::size_t> count(words.size(), 0);
  double score = 0, most = -1;
  const auto change = [&](std::size_t i, bool is_added) {
    const auto number = static_cast<std::size_t>(matches[i].number);
    const std::size_t others = is_added ? count[number]++ : --count[number];
    double gain = words.weight(number) * (others == 0 ? 1 : others < 4 ? kRepeated : 0);
    score += is_added ? gain : -gain;
  };
  // what two neighbours add belongs to the second of them
  const auto together = [&](std::size_t i) {
    const bool is_next =
        matches[i].number == matches[i - 1].number + 1 && matches[i].place == matches[i - 1].place + 1;
    return is_next ? kNeighbour * words.weight(static_cast<std::size_t>(matches[i].number)) : 0.0;
  };
  Span best;
  for (std::size_t first = 0, last = 0; first < matches.size(); ++first) {
    while (last < matches.size() &&
           (last == first || matches[last].end - matches[first].begin <= max_bytes)) {
      change(last, true);
      if (last > first) score += together(last);
      ++last;
    }
    if (score > most + 1e-9) {
      most = score;
      best = {first, last};
    }
    change(first, false);
    if (first + 1 < last) score -= together(first + 1);
  }
  return best;
}

std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return std::min(at, text.size());
}

bool is_line_end(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] == '\n';
}

/// A copy with the same offsets in which only empty lines end paragraphs: other line ends become blanks.
std::string unwrapped(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n') continue;
    const std::size_t next = std::min(text.find_first_not_of(" \t\r", at + 1), text.size());
    const bool ends_paragraph = is_line_end(text, next) || (at > 0 && text[at - 1] == '\n');
    if (!ends_paragraph) out[at] = ' ';
  }
  return out;
}

/// Where sentences begin in a piece of text, in bytes; begins with 0 and ends with its size.
std::vector<std::size_t> sentence_begins(std::string_view piece) {
  const std::string lines = unwrapped(piece);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> sentences(
      icu::BreakIterator::createSentenceInstance(icu::Locale::getRoot(), status));
  std::vector<std::size_t> out = {0};
  if (U_SUCCESS(status) && sentences != nullptr) {
    const icu::UnicodeString text =
        icu::UnicodeString::fromUTF8(icu::StringPiece(lines.data(), static_cast<int32_t>(lines.size())));
    sentences->setText(text);
    int32_t before = 0;
    for (int32_t at = sentences->first(); at != icu::BreakIterator::DONE; at = sentences->next()) {
      std::string sentence;
      text.tempSubStringBetween(before, at).toUTF8String(sentence);
      before = at;
      if (!sentence.empty()) out.push_back(out.back() + sentence.size());
    }
  }
  if (out.back() != piece.size()) out.push_back(piece.size());
  return out;
}

/// The first place of a whole word at or behind `at`.
std::size_t word_begin_behind(std::string_view text, std::size_t at, std::size_t last) {
  const std::size_t blank = text.find_first_of(" \n", at);
  return blank == std::string_view::npos || blank >= last ? character_begin(text, at) : blank + 1;
}

/// The last place at or before `at` where a word has ended; a character's begin if that loses more than half.
std::size_t word_end_before(std::string_view text, std::size_t begin, std::size_t at) {
  if (at >= text.size()) return text.size();
  const std::size_t blank = text.find_last_of(" \n", at);
  const bool is_near = blank != std::string_view::npos && blank > begin + (at - begin) / 2;
  return is_near ? blank : character_begin(text, at);
}

std::string with_ellipses(std::string_view text, bool has_more_before, bool has_more_behind) {
  std::string out = ascii_squeezed(text);
  if (has_more_before) out.insert(0, std::string(kEllipsis) + ' ');
  if (has_more_behind) out += kEllipsis;
  return out;
}

/// The range of the passage around matches in [first, last), cut at sentences where they are short enough.
std::string text_around(std::string_view text, std::size_t first, std::size_t last, std::size_t max_bytes) {
  const std::size_t from = character_begin(text, first > kAround ? first - kAround : 0);
  const std::size_t to = character_begin(text, std::min(last + kAround, text.size()));
  const std::string_view piece = text.substr(from, to - from);
  std::vector<std::size_t> begins = sentence_begins(piece);
  for (std::size_t& at : begins) at += from;
  if (from > 0) begins.erase(begins.begin());  // the piece begins inside a sentence
  if (to < text.size() && !begins.empty()) begins.pop_back();
  const auto behind = std::upper_bound(begins.begin(), begins.end(), first);
  std::size_t begin = behind == begins.begin() ? std::string_view::npos : *std::prev(behind);
  const bool is_whole_begin =
      begin != std::string_view::npos && std::max(last, first + max_bytes / 2) - begin <= max_bytes;
  if (!is_whole_begin) {
    const std::size_t room = max_bytes > last - first ? max_bytes - (last - first) : 0;
    const std::size_t before = std::min({kBeforeMatch, room, first});
    begin = before == first ? 0 : word_begin_behind(text, first - before, first);
  }
  std::size_t end = 0;
  for (const std::size_t at : begins)
    if (at >= last && at <= begin + max_bytes) end = at;
  const bool is_whole_end = end > 0;
  if (!is_whole_end) end = word_end_before(text, begin, std::max(begin + max_bytes, last));
  return with_ellipses(text.substr(begin, end - begin), !is_whole_begin && begin > 0,
                       !is_whole_end && end < text.size());
}

}  // namespace

PassageWords::PassageWords(const std::vector<PassageWord>& words, const std::string& language)
    : forms_(WordKind::stems, language) {
  for (const PassageWord& word : words) {
    const int number = static_cast<int>(weights_.size());
    bool is_new = false;
    for (const std::string& form : forms_.of(word.folded))
      is_new = by_stem_.try_emplace(form, number).second || is_new;
    if (is_new) weights_.push_back(word.weight);
  }
}

int PassageWords::number_of(std::string_view folded) {
  constexpr std::size_t kMostKnown = 100'000;
  if (const auto found = known_.find(folded); found != known_.end()) return found->second;
  if (known_.size() >= kMostKnown) known_.clear();
  int number = -1;
  for (const std::string& form : forms_.of(folded))
    if (const auto stem = by_stem_.find(form); number < 0 && stem != by_stem_.end()) number = stem->second;
  known_.emplace(folded, number);
  return number;
}

Passage best_passage(std::string_view text, PassageWords& words, std::size_t max_bytes) {
  const auto matches = matches_in(text, words);
  if (matches.empty()) return {};
  const Span span = best_span(matches, words, max_bytes);
  Passage out;
  out.text = text_around(text, matches[span.first].begin, matches[span.last - 1].end, max_bytes);
  for (WordCutter cutter(out.text); cutter.next();) {
    if (words.number_of(cutter.word()) < 0) continue;
    std::string word = cutter.is_piece() ? std::string(cutter.word())
                                         : out.text.substr(cutter.begin(), cutter.end() - cutter.begin());
    if (std::find(out.words.begin(), out.words.end(), word) == out.words.end())
      out.words.push_back(std::move(word));
  }
  return out;
}

std::string beginning_of_text(std::string_view text, std::size_t max_bytes) {
  text = ascii_trimmed(text);
  if (text.size() <= max_bytes) return ascii_squeezed(text);
  const auto begins = sentence_begins(truncate_utf8(text, max_bytes + kAround));
  const auto behind = std::upper_bound(begins.begin(), begins.end(), max_bytes);
  const std::size_t sentence = behind == begins.begin() ? 0 : *std::prev(behind);
  const bool is_whole = sentence >= max_bytes / 2;
  const std::size_t end = is_whole ? sentence : word_end_before(text, 0, max_bytes);
  return with_ellipses(text.substr(0, end), false, !is_whole);
}

}  // namespace metafuse::fetchers
