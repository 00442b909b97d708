#include "service/base/vocabulary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/text.h"
#include "service/base/word_match.h"
#include "templates/typed_query.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kLongestTitle = 120;
constexpr std::size_t kShortestCorrected = 3;
/// How many words near each of one, two and three doubtful words are tried: together at most 64.
constexpr std::size_t kMostNear[] = {64, 8, 4};
/// A known word is surely wrong only if what is meant occurs so many times as often.
constexpr std::size_t kRarer = 10;
constexpr std::size_t kMostCorrectedWords = 24;
constexpr std::size_t kLongestWord = 40;
constexpr std::size_t kMostCandidates = 4000;
/// A word leads to so many documents at least before it is offered above titles, which lead to one each.
constexpr std::size_t kSeveralDocuments = 3;
constexpr std::size_t kMostTypedBytes = 200;

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) out += next_code_point(text, at);
  return out;
}

/// FNV-1a.
std::uint32_t hash_of(std::u32string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char32_t c : text) hash = (hash ^ static_cast<std::uint32_t>(c)) * 16777619U;
  return hash;
}

/// Hashes of a word and of its forms with one letter left out.
std::vector<std::uint32_t> deletion_hashes(std::u32string_view word) {
  std::vector<std::uint32_t> out = {hash_of(word)};
  std::u32string shorter(word.substr(std::min<std::size_t>(1, word.size())));
  for (std::size_t i = 0; i < word.size(); ++i) {
    out.push_back(hash_of(shorter));
    if (i + 1 < word.size()) shorter[i] = word[i];
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool is_plain_word(std::string_view folded) {
  return !folded.empty() && folded.size() <= kLongestWord &&
         std::all_of(folded.begin(), folded.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
         });
}

bool has_digit(std::string_view word) {
  return std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Bytes [begin, end) of the next word of a folded text from `at` on; empty if there is none.
std::pair<std::size_t, std::size_t> next_word(std::string_view text, std::size_t at) {
  const auto is_part = [&](std::size_t i) { return is_plain_word(text.substr(i, 1)); };
  while (at < text.size() && !is_part(at)) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_part(at)) ++at;
  return {begin, at};
}

}  // namespace

bool is_one_error_apart(std::u32string_view a, std::u32string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  std::size_t same = 0;
  while (same < a.size() && a[same] == b[same]) ++same;
  const auto rest = [&](std::size_t from_a, std::size_t from_b) {
    return a.substr(std::min(from_a, a.size())) == b.substr(std::min(from_b, b.size()));
  };
  if (a.size() < b.size()) return rest(same, same + 1);
  if (rest(same + 1, same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] && rest(same + 2, same + 2);
}

Vocabulary::Vocabulary(const std::vector<std::string>& titles, const std::vector<WordCount>& words,
                       TitleOrder order)
    : order_(order) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [text, count] : words) {
    const std::string folded = folded_text(text);
    if (is_plain_word(folded)) counts[folded] += count;
  }
  std::set<std::string_view> seen;
  for (const std::string& title : titles) {
    if (title.empty() || title.size() > kLongestTitle || first_invalid_utf8(title) != std::string::npos)
      continue;
    if (!seen.insert(title).second) continue;  // a title of many documents must not hide the others
    titles_.push_back(title);
    folded_titles_.push_back(folded_text(title));
    const std::string& folded = folded_titles_.back();
    for (auto [begin, end] = next_word(folded, 0); end > begin;
         std::tie(begin, end) = next_word(folded, end)) {
      starts_.push_back({static_cast<std::uint32_t>(titles_.size() - 1), static_cast<std::uint32_t>(begin)});
      if (end - begin <= kLongestWord) counts.try_emplace(folded.substr(begin, end - begin), 1);
    }
  }
  std::sort(starts_.begin(), starts_.end(), [&](const WordStart& a, const WordStart& b) {
    const int difference = suffix(a).compare(suffix(b));
    return difference != 0 ? difference < 0 : a.title < b.title;
  });
  for (auto& [text, count] : counts) {
    words_.push_back({text, count});
    if (has_digit(text) || text.size() + 1 < kShortestCorrected) continue;
    for (const std::uint32_t hash : deletion_hashes(code_points(text)))
      deletions_.push_back({hash, static_cast<std::uint32_t>(words_.size() - 1)});
  }
  std::sort(deletions_.begin(), deletions_.end(), [](const Deletion& a, const Deletion& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.word < b.word;
  });
}

std::size_t Vocabulary::bytes() const {
  std::size_t out = starts_.size() * sizeof(WordStart) + deletions_.size() * sizeof(Deletion);
  for (std::size_t i = 0; i < titles_.size(); ++i) out += 2 * sizeof(std::string) + 2 * titles_[i].size();
  for (const Word& word : words_) out += sizeof(Word) + word.text.size();
  return out;
}

std::string_view Vocabulary::suffix(const WordStart& start) const {
  return std::string_view(folded_titles_[start.title]).substr(start.begin);
}

const Vocabulary::Word* Vocabulary::find_word(std::string_view folded) const {
  const auto at = std::lower_bound(words_.begin(), words_.end(), folded,
                                   [](const Word& word, std::string_view text) { return word.text < text; });
  return at != words_.end() && at->text == folded ? &*at : nullptr;
}

std::vector<std::string> Vocabulary::complete(std::string_view prefix, std::size_t limit) const {
  std::vector<std::string> out;
  if (prefix.size() > kMostTypedBytes) return out;
  std::string folded = folded_text(prefix);
  while (folded.starts_with(' ')) folded.erase(0, 1);
  if (folded.empty()) return out;
  complete_titles(folded, limit, out);
  complete_word(prefix, limit, out);
  return out;
}

std::vector<Vocabulary::Candidate> Vocabulary::candidates(std::string_view folded) const {
  std::size_t last_word = folded.size();
  while (last_word > 0 && is_plain_word(folded.substr(last_word - 1, 1))) --last_word;
  auto at =
      std::lower_bound(starts_.begin(), starts_.end(), folded,
                       [&](const WordStart& start, std::string_view text) { return suffix(start) < text; });
  std::vector<Candidate> found;
  for (; at != starts_.end() && found.size() < kMostCandidates && suffix(*at).starts_with(folded); ++at) {
    const auto [begin, end] = next_word(suffix(*at), last_word);
    const bool ends_in_word = last_word < folded.size();
    found.push_back({*at, ends_in_word ? find_word(suffix(*at).substr(begin, end - begin)) : nullptr});
  }
  return found;
}

/// Titles that begin with the text come first.
void Vocabulary::complete_titles(std::string_view folded, std::size_t limit,
                                 std::vector<std::string>& out) const {
  std::vector<Candidate> found = candidates(folded);
  const bool is_by_frequency = order_ == TitleOrder::by_frequency;
  const auto worth = [&](const Candidate& one) {
    const std::size_t count = is_by_frequency && one.word != nullptr ? one.word->count : 0;
    const std::size_t length = is_by_frequency ? titles_[one.start.title].size() : 0;
    return std::tuple(one.start.begin > 0, std::numeric_limits<std::size_t>::max() - count, length,
                      one.start.title);
  };
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), 2 * limit));
  std::partial_sort(found.begin(), middle, found.end(),
                    [&](const Candidate& a, const Candidate& b) { return worth(a) < worth(b); });
  const Word* first = found.empty() || !is_by_frequency ? nullptr : found.front().word;
  if (first != nullptr && first->count >= kSeveralDocuments && first->text != folded &&
      first->text != folded_titles_[found.front().start.title] && folded.find(' ') == std::string_view::npos)
    out.push_back(first->text);
  for (auto one = found.begin(); one != middle && out.size() < limit; ++one) {
    const std::string& title = titles_[one->start.title];
    if (std::find(out.begin(), out.end(), title) == out.end()) out.push_back(title);
  }
}

void Vocabulary::complete_word(std::string_view prefix, std::size_t limit,
                               std::vector<std::string>& out) const {
  const std::size_t blank = prefix.rfind(' ');
  const std::string_view before = blank == std::string_view::npos ? "" : prefix.substr(0, blank + 1);
  const std::string last = folded_text(prefix.substr(before.size()));
  if (!is_plain_word(last) || last.size() < 2) return;
  auto at = std::lower_bound(words_.begin(), words_.end(), last,
                             [](const Word& word, const std::string& text) { return word.text < text; });
  std::vector<const Word*> found;
  for (; at != words_.end() && found.size() < kMostCandidates && at->text.starts_with(last); ++at)
    found.push_back(&*at);
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), limit));
  std::partial_sort(found.begin(), middle, found.end(), [](const Word* a, const Word* b) {
    return a->count != b->count ? a->count > b->count : a->text < b->text;
  });
  for (auto word = found.begin(); word != middle && out.size() < limit; ++word) {
    std::string text = std::string(before) + (*word)->text;
    const std::string as_folded = folded_text(text);
    const auto is_same = [&](const std::string& other) { return folded_text(other) == as_folded; };
    if (!is_same(std::string(prefix)) && std::none_of(out.begin(), out.end(), is_same))
      out.push_back(std::move(text));
  }
}

std::vector<const Vocabulary::Word*> Vocabulary::nearest(std::string_view folded) const {
  const std::u32string letters = code_points(folded);
  std::vector<const Word*> out;
  for (const std::uint32_t hash : deletion_hashes(letters)) {
    auto at = std::lower_bound(deletions_.begin(), deletions_.end(), hash,
                               [](const Deletion& one, std::uint32_t wanted) { return one.hash < wanted; });
    for (; at != deletions_.end() && at->hash == hash; ++at) {
      const Word& word = words_[at->word];
      if (word.text != folded && is_one_error_apart(letters, code_points(word.text))) out.push_back(&word);
    }
  }
  std::sort(out.begin(), out.end(), [](const Word* a, const Word* b) {
    return a->count != b->count ? a->count > b->count : a->text < b->text;
  });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::size_t Vocabulary::count_of(const std::string& folded) const {
  std::size_t count = 0;
  for (const std::string& form : word_forms(folded))
    if (const Word* word = find_word(form)) count = std::max(count, word->count);
  return count;
}

namespace {

/// A word of a typed query, with its position.
struct TypedWord {
  std::size_t begin = 0, end = 0;
  std::string folded;
};

/// The words outside of conditions, without stop words if others remain.
std::vector<TypedWord> plain_words(const templates::TypedQuery& typed, const IsStopWord& is_stop_word) {
  std::vector<TypedWord> out;
  const std::string& text = typed.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const bool is_condition =
        std::any_of(typed.conditions.begin(), typed.conditions.end(),
                    [&](const templates::Condition& one) { return begin < one.end && end > one.begin; });
    if (end > begin && !is_condition)
      out.push_back({begin, end, folded_text(text.substr(begin, end - begin))});
    begin = end + 1;
  }
  const auto is_one = [&](const TypedWord& word) { return is_stop_word && is_stop_word(word.folded); };
  if (!std::all_of(out.begin(), out.end(), is_one)) std::erase_if(out, is_one);
  return out;
}

/// The forms of each word.
std::vector<std::vector<std::string>> groups_of(const std::vector<TypedWord>& words) {
  std::vector<std::vector<std::string>> groups;
  for (const TypedWord& word : words) groups.push_back(word_forms(word.folded));
  return groups;
}

bool can_be_corrected(const std::string& folded) {
  return is_plain_word(folded) && !has_digit(folded) && code_points(folded).size() >= kShortestCorrected;
}

}  // namespace

/// Replaces all doubtful words at once, by those that occur together with the others in most documents.
Vocabulary::Mending Vocabulary::mend(std::vector<Doubt> doubts, std::vector<std::vector<std::string>> groups,
                                     const CountDocuments& documents_with) {
  Mending best;
  if (doubts.empty() || doubts.size() > std::size(kMostNear)) return best;
  const std::size_t most = kMostNear[doubts.size() - 1];
  for (Doubt& doubt : doubts) {
    if (doubt.near.empty()) return best;
    doubt.near.resize(std::min(doubt.near.size(), most));
  }
  std::vector<std::size_t> at(doubts.size(), 0);  // counts through all combinations
  for (std::size_t i = 0; i < doubts.size();) {
    Mending one;
    for (std::size_t d = 0; d < doubts.size(); ++d) {
      one.by.push_back(doubts[d].near[at[d]]);
      one.common += one.by.back()->count;
      groups[doubts[d].word] = word_forms(one.by.back()->text);
    }
    one.documents = documents_with(groups);
    if (one.documents > 0 && one.is_better_than(best)) best = std::move(one);
    for (i = 0; i < doubts.size() && ++at[i] == doubts[i].near.size(); ++i) at[i] = 0;
  }
  best.doubts = std::move(doubts);
  return best;
}

/// Replaces the one doubtful word that leads to the most documents.
Vocabulary::Mending Vocabulary::mend_one(std::vector<Doubt> doubts,
                                         const std::vector<std::vector<std::string>>& groups,
                                         const CountDocuments& documents_with) {
  Mending best;
  for (Doubt& doubt : doubts) {
    doubt.near.resize(std::min(doubt.near.size(), kMostNear[0] / doubts.size()));
    Mending one = mend({std::move(doubt)}, groups, documents_with);
    if (!one.by.empty() && one.is_better_than(best)) best = std::move(one);
  }
  return best;
}

bool Vocabulary::is_right(std::string_view query, const CountDocuments& documents_with,
                          const IsStopWord& is_stop_word) {
  if (query.size() > kMostTypedBytes) return true;
  const auto words = plain_words(templates::parse_typed_query(query), is_stop_word);
  return words.empty() || words.size() > kMostCorrectedWords || documents_with(groups_of(words)) > 0;
}

std::optional<CorrectedQuery> Vocabulary::correct(std::string_view query,
                                                  const CountDocuments& documents_with,
                                                  const IsStopWord& is_stop_word) const {
  if (words_.empty() || is_right(query, documents_with, is_stop_word)) return std::nullopt;
  const templates::TypedQuery typed = templates::parse_typed_query(query);
  const std::vector<TypedWord> words = plain_words(typed, is_stop_word);
  const auto groups = groups_of(words);
  std::vector<Doubt> unknown;
  std::vector<Doubt> known;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!can_be_corrected(words[i].folded)) continue;
    const std::size_t count = count_of(words[i].folded);
    (count == 0 ? unknown : known).push_back({i, count, nearest(words[i].folded)});
  }
  if (is_stop_word)
    for (Doubt& doubt : known)
      std::erase_if(doubt.near, [&](const Word* word) { return is_stop_word(word->text); });
  Mending best = unknown.empty() ? mend_one(std::move(known), groups, documents_with)
                                 : mend(unknown, groups, documents_with);
  CorrectedQuery out{typed.text, !best.by.empty()};
  if (best.by.empty()) {
    for (Doubt& doubt : unknown)
      if (!doubt.near.empty()) {
        best.by.push_back(doubt.near.front());
        best.doubts.push_back(std::move(doubt));
      }
    if (best.by.empty()) return std::nullopt;
  }
  for (std::size_t i = best.by.size(); i-- > 0;) {  // from the end, so that earlier positions stay valid
    const TypedWord& word = words[best.doubts[i].word];
    out.text.replace(word.begin, word.end - word.begin, best.by[i]->text);
    out.is_sure = out.is_sure && best.doubts[i].count * kRarer <= best.by[i]->count;
  }
  return out;
}

}  // namespace metafuse::service
