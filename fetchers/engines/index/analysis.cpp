#include "fetchers/engines/index/analysis.h"

#include <algorithm>
#include <span>

#include <libstemmer.h>
#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include "core/languages.h"
#include "core/text.h"
#include "fetchers/engines/index/stop_words.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxWordBytes = 64;  ///< of longer words, only the beginning counts
constexpr std::size_t kPartCharacters = 4;
constexpr std::size_t kMostAtOnce =
    4096;  ///< bytes of a run without blanks, which may be as long as the text

UChar32 as_icu(char32_t c) {
  return static_cast<UChar32>(c);
}

/// How a run of characters is cut into words.
enum class Run { none, word, pairs, dictionary };

Run run_of(char32_t c) {
  if (c < 0x80) return is_ascii_letter_or_digit(static_cast<char>(c)) ? Run::word : Run::none;
  constexpr auto kMarks = U_GC_MN_MASK | U_GC_MC_MASK | U_GC_ME_MASK;
  if (!u_isalnum(as_icu(c)) && (U_GET_GC_MASK(as_icu(c)) & kMarks) == 0) return Run::none;
  if (c < 0xE00) return Run::word;
  if (u_getIntPropertyValue(as_icu(c), UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT) return Run::dictionary;
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(as_icu(c), &status);
  const bool has_no_blanks = script == USCRIPT_HAN || script == USCRIPT_HIRAGANA ||
                             script == USCRIPT_KATAKANA || script == USCRIPT_HANGUL || c == 0x30FC;
  return has_no_blanks ? Run::pairs : Run::word;
}

/// Reads the character at byte `at` and moves `at` past it, or past one byte that is not UTF-8.
Run next_run(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const std::string_view character = text.substr(at, bytes);
  if (character.size() < bytes || first_invalid_utf8(character) != std::string_view::npos) {
    ++at;
    return Run::none;
  }
  return run_of(next_code_point(text, at));
}

bool has_only_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

icu::UnicodeString as_unicode(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

icu::UnicodeString normalised(const icu::Normalizer2* form, const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString out = form == nullptr ? text : form->normalize(text, status);
  return U_SUCCESS(status) ? out : text;
}

/// Lower case and compatibility forms.
icu::UnicodeString case_folded(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  return normalised(icu::Normalizer2::getNFKCCasefoldInstance(status), as_unicode(text));
}

/// The word without accents on Latin and Greek letters.
std::string without_accents(const std::string& word) {
  if (has_only_ascii(word)) return word;
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString apart = normalised(icu::Normalizer2::getNFDInstance(status), as_unicode(word));
  icu::UnicodeString kept;
  bool drops_marks = false;
  for (int32_t at = 0; at < apart.length(); at = apart.moveIndex32(at, 1)) {
    const UChar32 c = apart.char32At(at);
    const bool is_mark = c >= 0x300 && c < 0x370;
    if (!is_mark) {
      const UScriptCode script = uscript_getScript(c, &status);
      drops_marks = script == USCRIPT_LATIN || script == USCRIPT_GREEK;
    }
    if (!is_mark || !drops_marks) kept.append(c);
  }
  std::string out;
  normalised(icu::Normalizer2::getNFCInstance(status), kept).toUTF8String(out);
  return out;
}

/// What English writes behind an apostrophe.
bool is_apostrophe_ending(std::string_view letters) {
  constexpr std::array<std::string_view, 7> kEndings = {"s", "t", "d", "m", "ll", "re", "ve"};
  return std::find(kEndings.begin(), kEndings.end(), letters) != kEndings.end();
}

/// The number of bytes of an apostrophe at the beginning of the text: ' or U+2019; 0 if there is none.
std::size_t apostrophe_bytes(std::string_view text) {
  return text.starts_with('\'') ? 1 : text.starts_with("\xE2\x80\x99") ? 3 : 0;
}

/// The number of bytes of an apostrophe and an English ending behind it; 0 if that does not follow.
std::size_t ending_bytes(std::string_view rest) {
  const std::size_t mark = apostrophe_bytes(rest);
  if (mark == 0) return 0;
  std::size_t end = mark;
  std::string letters;
  while (end < rest.size() && is_ascii_letter(rest[end]) && letters.size() < 3)
    letters += ascii_lower(rest[end++]);
  const bool goes_on = end < rest.size() &&
                       (is_ascii_letter_or_digit(rest[end]) || static_cast<unsigned char>(rest[end]) >= 0x80);
  return !goes_on && is_apostrophe_ending(letters) ? end : 0;
}

}  // namespace

std::string_view name_of(WordKind kind) {
  return kind == WordKind::words ? "words" : kind == WordKind::stems ? "stems" : "parts";
}

std::optional<WordKind> word_kind_of(std::string_view name) {
  if (name == "words" || name == "unicode61") return WordKind::words;
  if (name == "stems" || name == "porter") return WordKind::stems;
  if (name == "parts" || name == "trigram") return WordKind::parts;
  return std::nullopt;
}

bool WordCutter::take_piece() {
  if (pieces_.empty()) return false;
  word_ = std::move(pieces_.back());
  const std::size_t bytes = run_end_ - run_begin_;
  const std::size_t pieces = std::max(run_pieces_, pieces_.size());
  begin_ = run_begin_ + bytes * (pieces - pieces_.size()) / pieces;
  end_ = std::min(run_end_, pieces == 1 ? run_end_ : begin_ + word_.size());
  pieces_.pop_back();
  return true;
}

bool WordCutter::next() {
  if (take_piece()) return true;
  is_piece_ = false;
  is_of_pairs_ = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is_ascii_letter_or_digit(c)) {
      if (next_ascii() || take_piece()) return true;
    } else if (static_cast<unsigned char>(c) < 0x80) {
      ++at_;
    } else {
      cut_other();
      if (take_piece()) return true;
    }
  }
  return false;
}

std::size_t WordCutter::first_character_bytes() const {
  std::size_t end = 0;
  next_code_point(word_, end);
  return end;
}

std::string_view WordCutter::last_character() const {
  if (!is_of_pairs_ || !pieces_.empty()) return {};
  return std::string_view(word_).substr(first_character_bytes());
}

/// Takes a word of ASCII letters and digits. If other letters follow, cuts the whole run by ICU instead and
/// returns false.
bool WordCutter::next_ascii() {
  std::size_t end = at_;
  while (end < text_.size() && is_ascii_letter_or_digit(text_[end])) ++end;
  const bool is_before_other = end < text_.size() && static_cast<unsigned char>(text_[end]) >= 0x80 &&
                               apostrophe_bytes(text_.substr(end)) == 0;
  if (is_before_other) {
    cut_other();
    return false;
  }
  word_.assign(text_.substr(at_, std::min(end - at_, kMaxWordBytes)));
  for (char& c : word_) c = ascii_lower(c);
  begin_ = at_;
  end_ = end;
  at_ = end + ending_bytes(text_.substr(end));
  return true;
}

/// Cuts a run of characters that are cut in the same way; moves past one character if it is in no word.
void WordCutter::cut_other() {
  const std::size_t begin = at_;
  Run run = Run::none;
  while (at_ < text_.size()) {
    std::size_t after = at_;
    const Run here = next_run(text_, after);
    if (at_ > begin && (here != run || (run != Run::word && after - begin > kMostAtOnce))) break;
    run = here;
    at_ = after;
    if (run == Run::none) return;
  }
  if (run == Run::pairs || run == Run::dictionary) {
    run == Run::pairs ? cut_pairs(begin, at_) : cut_by_dictionary(begin, at_);
    run_begin_ = begin;
    run_end_ = at_;
    run_pieces_ = pieces_.size();
    return;
  }
  run_begin_ = begin;
  run_end_ = at_;
  run_pieces_ = 1;
  const std::size_t behind = at_ + ending_bytes(text_.substr(at_));
  std::string folded;
  case_folded(truncate_utf8(text_.substr(begin, at_ - begin), 4 * kMaxWordBytes)).toUTF8String(folded);
  folded = truncate_utf8(folded, kMaxWordBytes);
  if (!folded.empty()) pieces_.push_back(std::move(folded));
  at_ = behind;
}

void WordCutter::cut_pairs(std::size_t begin, std::size_t end) {
  const icu::UnicodeString run = case_folded(text_.substr(begin, end - begin));
  std::vector<std::string> found;
  for (int32_t at = 0; at < run.length();) {
    const int32_t second = run.moveIndex32(at, 1);
    if (second >= run.length() && !found.empty()) break;
    std::string pair;
    run.tempSubStringBetween(at, run.moveIndex32(second, 1)).toUTF8String(pair);
    found.push_back(std::move(pair));
    at = second;
  }
  is_piece_ = found.size() > 1;
  is_of_pairs_ = !found.empty();
  pieces_.assign(std::make_move_iterator(found.rbegin()), std::make_move_iterator(found.rend()));
}

void WordCutter::cut_by_dictionary(std::size_t begin, std::size_t end) {
  const icu::UnicodeString run = case_folded(text_.substr(begin, end - begin));
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> words(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
  std::vector<std::string> found;
  if (U_SUCCESS(status) && words != nullptr) {
    words->setText(run);
    for (int32_t from = words->first(), to = words->next(); to != icu::BreakIterator::DONE;
         from = to, to = words->next()) {
      std::string word;
      run.tempSubStringBetween(from, to).toUTF8String(word);
      found.emplace_back(truncate_utf8(word, kMaxWordBytes));
    }
  }
  is_piece_ = found.size() > 1;
  pieces_.assign(std::make_move_iterator(found.rbegin()), std::make_move_iterator(found.rend()));
}

StopWords::StopWords(std::string_view language) {
  for (const StopWordFile& file : stop_word_files()) {
    if (file.language != language) continue;
    for (std::string_view rest = file.words; !rest.empty();) {
      const std::string_view line = take_until(rest, '\n');
      if (line.find('\'') != std::string_view::npos) continue;
      WordCutter cutter(line);
      if (cutter.next()) words_.emplace_back(cutter.word());
    }
  }
  std::sort(words_.begin(), words_.end());
}

bool StopWords::contains(std::string_view word) const {
  return std::binary_search(words_.begin(), words_.end(), word);
}

std::string language_by_stop_words(std::string_view text) {
  constexpr std::size_t kReadBytes = 20'000;
  constexpr double kFewestInTenWords = 1.5;
  static const std::vector<std::pair<std::string, StopWords>> lists = [] {
    std::vector<std::pair<std::string, StopWords>> out;
    for (const StopWordFile& file : stop_word_files())
      out.emplace_back(file.language, StopWords(file.language));
    return out;
  }();
  std::vector<std::size_t> hits(lists.size());
  std::size_t words = 0;
  for (WordCutter cutter(truncate_utf8(text, kReadBytes)); cutter.next(); ++words)
    for (std::size_t i = 0; i < lists.size(); ++i) hits[i] += lists[i].second.contains(cutter.word()) ? 1 : 0;
  const auto most = std::max_element(hits.begin(), hits.end());
  const bool is_clear = most != hits.end() && *most >= 3 &&
                        static_cast<double>(*most) * 10 >= kFewestInTenWords * static_cast<double>(words);
  return is_clear ? lists[static_cast<std::size_t>(most - hits.begin())].first : std::string();
}

Result<void> check_language(std::string_view language) {
  const auto all = known_languages();
  if (std::any_of(all.begin(), all.end(), [&](const Language& one) { return one.tag == language; }))
    return {};
  const std::string code(language);
  sb_stemmer* stemmer = code.size() == 2 ? sb_stemmer_new(code.c_str(), nullptr) : nullptr;
  if (stemmer != nullptr) {
    sb_stemmer_delete(stemmer);
    return {};
  }
  std::string names;
  for (const Language& one : all) names += (names.empty() ? "" : ", ") + std::string(one.tag);
  return fail(Code::bad_config, "there is no language \"" + code + "\"; use one of " + names);
}

struct WordForms::Stemmer {
  struct Delete {
    void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
  };
  std::unique_ptr<sb_stemmer, Delete> of_language;
};

WordForms::WordForms(WordKind kind, const std::string& language)
    : kind_(kind), stemmer_(std::make_unique<Stemmer>()) {
  if (kind == WordKind::stems && language.size() == 2)
    stemmer_->of_language.reset(sb_stemmer_new(language.c_str(), nullptr));
}

WordForms::~WordForms() = default;
WordForms::WordForms(WordForms&&) noexcept = default;

/// Without accents; the word itself where there is no stemmer.
std::string WordForms::stem_of(std::string_view folded) const {
  std::string stem(folded);
  if (sb_stemmer* stemmer = stemmer_->of_language.get(); stemmer != nullptr) {
    const sb_symbol* bytes = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(folded.data()),
                                             static_cast<int>(folded.size()));
    if (bytes != nullptr)
      stem.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sb_stemmer_length(stemmer)));
  }
  return without_accents(stem);
}

const std::vector<std::string>& WordForms::of(std::string_view folded) {
  forms_.clear();
  std::string stem = stem_of(folded);
  if (kind_ != WordKind::parts) {
    forms_.push_back(std::move(stem));
    if (has_only_ascii(folded) || stemmer_->of_language == nullptr) return forms_;
    std::string plain = stem_of(without_accents(std::string(folded)));
    if (plain != forms_.front()) forms_.push_back(std::move(plain));
    return forms_;
  }
  const std::string text = ' ' + stem + ' ';
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) begins.push_back(at);
  begins.push_back(text.size());
  const std::size_t characters = begins.size() - 1;
  if (characters <= kPartCharacters) forms_.push_back(text);
  for (std::size_t i = 0; characters > kPartCharacters && i + kPartCharacters <= characters; ++i)
    forms_.push_back(text.substr(begins[i], begins[i + kPartCharacters] - begins[i]));
  return forms_;
}

}  // namespace metafuse::fetchers
