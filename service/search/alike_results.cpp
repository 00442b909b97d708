#include "service/search/alike_results.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/keyed_hash.h"
#include "core/text.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/fingerprint.h"
#include "service/base/addresses.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostCompared = 300;
constexpr std::size_t kFewestWords = 8;
constexpr std::size_t kComparedBytes = 600;  ///< of a snippet
/// Sets that share four fifths of their members almost surely share one of their smallest eight.
constexpr std::size_t kSmallest = 8;

/// The words of a title, and those of them that hold a digit, each once and in order.
struct TitleWords {
  std::vector<std::string> all;
  std::string numbers;  ///< with a line end behind each
};

TitleWords title_words(const std::string& title) {
  TitleWords out;
  for (fetchers::WordCutter cutter(truncate_utf8(title, kComparedBytes)); cutter.next();)
    out.all.emplace_back(cutter.word());
  std::sort(out.all.begin(), out.all.end());
  out.all.erase(std::unique(out.all.begin(), out.all.end()), out.all.end());
  for (const std::string& word : out.all)
    if (std::any_of(word.begin(), word.end(), is_ascii_digit)) out.numbers += word + '\n';
  return out;
}

bool have_alike_titles(const TitleWords& a, const TitleWords& b) {
  if (a.numbers != b.numbers) return false;
  const bool is_a_shorter = a.all.size() <= b.all.size();
  const auto& shorter = is_a_shorter ? a.all : b.all;
  const auto& longer = is_a_shorter ? b.all : a.all;
  return !shorter.empty() && std::includes(longer.begin(), longer.end(), shorter.begin(), shorter.end());
}

/// What comparing a result needs.
struct Traits {
  std::uint64_t fingerprint = 0;
  std::vector<std::uint64_t> pairs;  ///< of the snippet; none if the fingerprint is known
  TitleWords title;
};

Traits compared_traits(const Hit& hit) {
  Traits out;
  out.fingerprint = hit.fingerprint;
  if (out.fingerprint != 0) return out;
  out.pairs = fetchers::word_pairs(truncate_utf8(hit.snippet, kComparedBytes));
  out.title = title_words(hit.title);
  return out;
}

bool are_alike(const Traits& a, const Traits& b) {
  if (a.fingerprint != 0 && b.fingerprint != 0)
    return fetchers::differing_bits(a.fingerprint, b.fingerprint) <= kMostDifferingBits;
  if (a.fingerprint != 0 || b.fingerprint != 0) return false;
  if (std::min(a.pairs.size() + a.title.all.size(), b.pairs.size() + b.title.all.size()) < kFewestWords)
    return false;
  if (!have_alike_titles(a.title, b.title)) return false;  // first, because titles are shorter
  return (a.pairs.empty() && b.pairs.empty() && a.title.all == b.title.all) ||
         fetchers::common_share(a.pairs, b.pairs) >= kLeastCommonPairs;
}

/// Finds, among the results seen so far, one that a further result is alike.
class SeenResults {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// out: the number of the result alike, or kNone
  std::size_t find(const Traits& traits) {
    ++turn_;
    if (traits.fingerprint != 0) {
      for (const std::size_t i : with_fingerprint_)
        if (are_alike(seen_[i], traits)) return i;
      return kNone;
    }
    std::size_t best = kNone;
    for (const std::uint64_t hash : smallest_of(traits)) {
      const auto others = by_hash_.find(hash);
      if (others == by_hash_.end()) continue;
      for (const std::size_t i : others->second)
        if (std::exchange(turn_of_[i], turn_) != turn_ && i < best && are_alike(seen_[i], traits)) best = i;
    }
    return best;
  }
  void add(Traits traits) {
    if (traits.fingerprint != 0) with_fingerprint_.push_back(seen_.size());
    if (traits.fingerprint == 0)
      for (const std::uint64_t hash : smallest_of(traits)) by_hash_[hash].push_back(seen_.size());
    seen_.push_back(std::move(traits));
    turn_of_.push_back(0);
  }

 private:
  static std::vector<std::uint64_t> smallest_of(const Traits& traits) {
    if (traits.pairs.empty()) return {0};
    return {traits.pairs.begin(),
            traits.pairs.begin() + static_cast<std::ptrdiff_t>(std::min(kSmallest, traits.pairs.size()))};
  }

  std::vector<Traits> seen_;
  std::vector<std::size_t> turn_of_;  ///< by result: the search for which it was compared last
  std::size_t turn_ = 0;              ///< the search under way, from 1
  std::vector<std::size_t> with_fingerprint_;
  std::map<std::uint64_t, std::vector<std::size_t>> by_hash_;
};

FoldedHit folded_hit(FusedResult& result) {
  return {std::move(result.hit), result.window};
}

}  // namespace

bool are_alike(const Hit& a, const Hit& b) {
  return are_alike(compared_traits(a), compared_traits(b));
}

void fold_alike(SearchAnswer& answer) {
  if (std::all_of(answer.lists.begin(), answer.lists.end(),
                  [](const fetchers::FetchedList& list) { return list.query.engine.empty(); }))
    return;
  SeenResults seen;
  std::vector<FusedResult> kept;
  kept.reserve(answer.results.size());
  std::vector<std::size_t> place;  // in `kept`, of each result seen
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    FusedResult& result = answer.results[i];
    if (i < kMostCompared) {
      Traits traits = compared_traits(result.hit);
      if (const std::size_t other = seen.find(traits); other != SeenResults::kNone) {
        kept[place[other]].alike.push_back(folded_hit(result));
        continue;
      }
      seen.add(std::move(traits));
      place.push_back(kept.size());
    }
    kept.push_back(std::move(result));
  }
  answer.results = std::move(kept);
}

void group_sites(SearchAnswer& answer) {
  struct Site {
    std::size_t results = 0, second = 0;
  };
  TextMap<Site> sites;
  std::vector<FusedResult> kept;
  kept.reserve(answer.results.size());
  for (FusedResult& result : answer.results) {
    const std::string host = result.hit.url.starts_with("file:") ? std::string() : host_of(result.hit.url);
    Site& site = sites[host];
    if (!host.empty() && ++site.results > 2) {
      auto& below = kept[site.second].same_site;
      auto alike = std::move(result.alike);
      below.push_back(folded_hit(result));
      std::move(alike.begin(), alike.end(), std::back_inserter(below));
      continue;
    }
    if (site.results == 2) site.second = kept.size();
    kept.push_back(std::move(result));
  }
  answer.results = std::move(kept);
}

void fold_results(const LoadedDomain& domain, SearchAnswer& answer) {
  fold_alike(answer);
  if (domain.domain.groups_sites) group_sites(answer);
}

FusedResult risen_result(FoldedHit hit, const FusedResult& above) {
  FusedResult out;
  out.window = hit.window;
  out.hit = std::move(hit);
  out.document = FusedResult::kNoDocument;
  out.score = above.score;
  out.relative_score = above.relative_score;
  out.relevance = above.relevance;
  return out;
}

void choose_head(FusedResult& result, const HitTest& is_hidden, const HitTest& is_wanted,
                 std::vector<FusedResult>& risen) {
  auto& alike = result.alike;
  if (alike.empty() && result.same_site.empty()) return;
  std::erase_if(alike, is_hidden);
  std::erase_if(result.same_site, is_hidden);
  const bool is_gone = is_hidden(result.hit);
  if (alike.empty() || (!is_gone && is_wanted(result.hit))) return;
  const auto later =
      std::ranges::find_if(alike, [&](const FoldedHit& hit) { return hit.window > result.window; });
  auto head = std::find_if(alike.begin(), later, is_wanted);
  if (head == later && is_gone) head = alike.begin();
  if (head != later) {
    std::swap(result.hit, static_cast<Hit&>(*head));
    if (is_gone) alike.erase(head);
    return;
  }
  if (!is_gone) head = std::find_if(later, alike.end(), is_wanted);
  if (head == alike.end()) return;
  FusedResult up = risen_result(std::move(*head), result);
  alike.erase(head);
  if (is_gone) {
    up.alike = std::exchange(alike, {});
    choose_head(up, is_hidden, is_wanted, risen);
  }
  risen.push_back(std::move(up));
}

}  // namespace metafuse::service
