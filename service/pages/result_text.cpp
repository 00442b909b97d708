#include "service/pages/result_text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/encoding.h"
#include "core/text.h"
#include "service/http/head.h"
#include "service/search/typed_conditions.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostWords = 32;
constexpr std::size_t kMostMarks = 16;
constexpr std::size_t kBeforeMatch = 60;
constexpr std::size_t kSearchedBytes = 8192;
constexpr std::size_t kPathBytes = 90;

void add_forms(const std::string& word, std::vector<std::string>& out) {
  for (std::string& form : word_forms(word)) out.push_back(std::move(form));
}

/// Whether a word is a single letter or an English word that almost every text contains.
bool is_everywhere(const std::string& word) {
  static constexpr std::array<std::string_view, 30> kWords = {
      "an",   "and", "are",  "as", "at",  "be",   "by",    "do",  "for",  "from",
      "how",  "if",  "in",   "is", "it",  "no",   "not",   "of",  "on",   "or",
      "that", "the", "this", "to", "was", "what", "where", "who", "will", "with"};
  return word.size() < 2 || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// The beginning of the word that holds byte `at`; if that is far, as in text without blanks, of the
/// character, because the way back must not lose the match.
std::size_t word_begin(std::string_view text, std::size_t at) {
  const std::size_t blank = text.rfind(' ', at);
  if (blank != std::string_view::npos && at - blank <= kBeforeMatch) return std::min(blank + 1, at);
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

/// The last word boundary at or before `at`; a character boundary if that would lose more than half.
std::size_t word_end(std::string_view text, std::size_t begin, std::size_t at) {
  if (at >= text.size()) return text.size();
  const std::size_t blank = text.rfind(' ', at);
  if (blank != std::string_view::npos && blank > begin + (at - begin) / 2) return blank;
  return begin + truncate_utf8(text.substr(begin), at - begin).size();
}

/// Whether a control, direction or blank character could make an address look like another one.
bool can_mislead(char32_t c) {
  return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x2000 && c <= 0x206F) ||
         c == 0x3000 || c == 0xFEFF || c >= 0xE000;
}

bool is_safe_to_show(std::string_view text) {
  if (first_invalid_utf8(text) != std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size();)
    if (can_mislead(next_code_point(text, at))) return false;
  return true;
}

/// A piece of a URL as it stands, but with what could mislead encoded, except blanks.
std::string shown_piece(std::string_view piece) {
  const std::string valid = to_valid_utf8(piece);
  std::string out;
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t begin = at;
    const bool is_encoded = can_mislead(next_code_point(valid, at)) && valid[begin] != ' ';
    const std::string_view character = std::string_view(valid).substr(begin, at - begin);
    out += is_encoded ? percent_encoded(character) : std::string(character);
  }
  return out;
}

/// A part of a path without percent-encoding, where that is safe.
std::string shown_part(std::string_view part) {
  auto decoded = percent_decode(part, false);
  const bool is_safe = decoded && decoded->find('/') == std::string::npos && is_safe_to_show(*decoded);
  return is_safe ? std::move(*decoded) : shown_piece(part);
}

}  // namespace

std::vector<FoldedText> words_to_mark(const SearchAnswer& answer) {
  std::vector<std::string> words;
  for (const templates::TypedTerm& term : answer.typed.terms) {
    if (term.is_phrase)
      words.push_back(term.text);
    else
      add_forms(term.text, words);
  }
  if (words.empty())
    for (const auto& [name, value] : answer.slots.slots)
      for (const std::string& word : split(value, ' ')) add_forms(word, words);
  if (!std::all_of(words.begin(), words.end(), is_everywhere)) std::erase_if(words, is_everywhere);
  if (words.size() > kMostWords) words.resize(kMostWords);
  // the index has told stop words apart already
  for (const std::string& word : answer.matched)
    if (words.size() < 2 * kMostWords) words.push_back(word);
  return {words.begin(), words.end()};
}

std::vector<MarkedPiece> marked(std::string_view text, std::span<const FoldedText> words) {
  auto ranges = word_ranges(text, words);
  if (ranges.size() > kMostMarks) ranges.resize(kMostMarks);
  std::vector<MarkedPiece> out;
  std::size_t at = 0;
  for (const TextRange& range : ranges) {
    out.push_back({std::string(text.substr(at, range.begin - at)),
                   std::string(text.substr(range.begin, range.end - range.begin))});
    at = range.end;
  }
  if (at < text.size() || out.empty()) out.push_back({std::string(text.substr(at)), {}});
  return out;
}

std::string excerpt(std::string_view text, std::span<const FoldedText> words, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  text = truncate_utf8(text, kSearchedBytes);
  const auto ranges = word_ranges(text, words);
  std::size_t begin = 0, most = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::size_t from = ranges[i].begin > kBeforeMatch ? ranges[i].begin - kBeforeMatch : 0;
    std::size_t count = 0;
    while (i + count < ranges.size() && ranges[i + count].end <= from + max_bytes) ++count;
    if (count <= most) continue;
    most = count;
    begin = from;
  }
  if (begin > 0) begin = word_begin(text, begin);
  const std::size_t end = word_end(text, begin, begin + max_bytes);
  return (begin > 0 ? "… " : "") + std::string(text.substr(begin, end - begin)) + "…";
}

ReadableAddress readable_address(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {shown_piece(truncate_utf8(url, kPathBytes)), {}};
  const bool is_file = url.starts_with("file:");
  url.remove_prefix(scheme + 3);
  const std::size_t slash = std::min(url.find_first_of("/?#"), url.size());
  ReadableAddress out;
  out.host = shown_piece(url.substr(0, slash));
  if (is_file && out.host == "localhost") out.host.clear();
  if (out.host.starts_with("www.")) out.host.erase(0, 4);
  std::string_view rest = url.substr(slash);
  rest = rest.substr(0, rest.find('#'));
  const std::string_view query =
      rest.find('?') == std::string_view::npos ? std::string_view() : rest.substr(rest.find('?'));
  rest.remove_suffix(query.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    if (part.empty()) continue;
    out.path += (is_file ? "/" : " › ") + shown_part(part);
  }
  out.path += shown_piece(query);
  if (out.path.size() > kPathBytes) out.path = std::string(truncate_utf8(out.path, kPathBytes)) + "…";
  return out;
}

std::string target_of(const FileLinks& files, std::string_view domain, const std::string& url) {
  return url.starts_with("file:") ? files.link(domain, url) : url;
}

std::string shown_file_type(std::string_view url) {
  static constexpr std::array<std::string_view, 30> kTypes = {
      "pdf", "ps",  "djvu", "epub", "doc", "docx", "odt", "rtf", "txt",  "md",
      "tex", "ppt", "pptx", "odp",  "xls", "xlsx", "ods", "csv", "json", "xml",
      "zip", "gz",  "png",  "jpg",  "gif", "svg",  "mp3", "mp4", "ogg",  "ipynb"};
  std::string type = file_type_of(url);
  return std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end() ? std::string() : type;
}

}  // namespace metafuse::service
