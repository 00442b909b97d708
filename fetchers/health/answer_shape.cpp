#include "fetchers/health/answer_shape.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/text.h"
#include "core/url.h"
#include "fetchers/engines/index/text_language.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kFewestLetters = 3;  ///< of a word of the query that counts
constexpr std::size_t kMostWords = 16;
constexpr std::size_t kMostShapeHits = 50;
constexpr std::size_t kMostKeys = 10;
constexpr std::size_t kLanguageBytes = 2000;
constexpr std::size_t kFewestOthersHits = 3;

std::vector<std::string> query_words(std::string_view query) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.size() >= kFewestLetters && words.size() < kMostWords) words.push_back(word);
    word.clear();
  };
  for (const char c : query.substr(0, 1000))
    if (is_ascii_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80)
      word += ascii_lower(c);
    else
      end_word();
  end_word();
  return words;
}

std::string shape_host(const std::string& url) {
  const auto parts = parts_of_url(url);
  if (!parts) return {};
  return parts->host.starts_with("www.") ? parts->host.substr(4) : parts->host;
}

/// Sums over the hits that a shape is made of.
struct ShapeSums {
  double titles = 0, texts = 0, title_bytes = 0, text_bytes = 0, url_bytes = 0, on_topic = 0, shared = 0;
  std::set<std::string_view> distinct;
  std::map<std::string_view, std::size_t> hosts;
  std::string sample;  ///< of the texts, for their language
};

void add_hit(ShapeSums& sums, const Hit& hit, const std::vector<std::string>& words, bool is_shared) {
  sums.titles += hit.title.empty() ? 0 : 1;
  sums.texts += hit.snippet.empty() ? 0 : 1;
  sums.title_bytes += static_cast<double>(hit.title.size());
  sums.text_bytes += static_cast<double>(hit.snippet.size());
  sums.url_bytes += static_cast<double>(hit.url.size());
  sums.distinct.insert(hit.title);
  if (sums.sample.size() < kLanguageBytes) sums.sample += hit.title + ". " + hit.snippet + ' ';
  const std::string all = ascii_lower(hit.title + ' ' + hit.snippet + ' ' + hit.url);
  const auto is_inside = [&](const std::string& word) { return all.find(word) != std::string::npos; };
  sums.on_topic += std::any_of(words.begin(), words.end(), is_inside) ? 1 : 0;
  sums.shared += is_shared ? 1 : 0;
}

}  // namespace

std::string_view words_of(Oddity oddity) {
  constexpr std::array<std::string_view, kOddities> kWords = {// in the order of Oddity
                                                              "no results",
                                                              "no results for a query that had some",
                                                              "far fewer results",
                                                              "titles are missing",
                                                              "texts are missing",
                                                              "other titles than usual",
                                                              "other links than usual",
                                                              "another language",
                                                              "results without the words of the query",
                                                              "the same results for every query",
                                                              "nothing that other engines find",
                                                              "refuses programs",
                                                              "cannot be read as defined",
                                                              "does not answer",
                                                              "slow",
                                                              "unusual answers"};
  return kWords[static_cast<std::size_t>(oddity)];
}

namespace {
constexpr std::array<std::string_view, kHealthStates> kStateNames = {
    // in the order of HealthState
    "works", "empty", "blocked", "changed", "slow", "gone"};
}  // namespace

std::string_view name_of(HealthState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<HealthState> health_state_of(std::string_view name) {
  const auto at = std::find(kStateNames.begin(), kStateNames.end(), name);
  if (at == kStateNames.end()) return std::nullopt;
  return static_cast<HealthState>(at - kStateNames.begin());
}

HealthState state_behind(Oddity oddity) {
  switch (oddity) {
    case Oddity::empty:
    case Oddity::known_empty:
      return HealthState::empty;
    case Oddity::refused:
      return HealthState::blocked;
    case Oddity::gone:
      return HealthState::gone;
    case Oddity::slow:
      return HealthState::slow;
    default:
      return HealthState::changed;
  }
}

AnswerShape shape_of(const FetchedList& list, std::string_view query, const SearchFinds& finds) {
  AnswerShape shape;
  shape.failure = list.failure;
  shape.status = list.status;
  shape.is_engines_fault = list.blame == Blame::engine;
  shape.set(Figure::seconds, std::chrono::duration<double>(list.elapsed).count());
  const std::vector<Hit>& hits = list.list.hits;
  shape.set(Figure::results, static_cast<double>(hits.size()));
  if (list.has_failed() || hits.empty()) return shape;
  const std::string& engine = list.query.engine;
  const std::vector<std::string> words = query_words(query);
  const std::size_t count = std::min(hits.size(), kMostShapeHits);
  ShapeSums sums;
  for (std::size_t i = 0; i < count; ++i) {
    add_hit(sums, hits[i], words, finds.has_besides(engine, hits[i].key));
    shape.hosts.push_back(shape_host(hits[i].url));
    if (i < kMostKeys) shape.keys.push_back(hits[i].key.empty() ? hits[i].url : hits[i].key);
  }
  for (const std::string& host : shape.hosts) ++sums.hosts[host];
  std::size_t top = 0;
  for (const auto& [host, hosts] : sums.hosts) top = std::max(top, hosts);
  const auto n = static_cast<double>(count);
  shape.set(Figure::with_title, sums.titles / n);
  shape.set(Figure::with_text, sums.texts / n);
  shape.set(Figure::title_bytes, sums.title_bytes / std::max(1.0, sums.titles));
  shape.set(Figure::text_bytes, sums.text_bytes / std::max(1.0, sums.texts));
  shape.set(Figure::distinct, static_cast<double>(sums.distinct.size()) / n);
  shape.set(Figure::url_bytes, sums.url_bytes / n);
  shape.set(Figure::top_host, static_cast<double>(top) / n);
  if (!words.empty()) shape.set(Figure::on_topic, sums.on_topic / n);
  if (finds.keys_besides(engine) >= kFewestOthersHits) shape.set(Figure::shared, sums.shared / n);
  shape.language = language_of_text(truncate_utf8(sums.sample, kLanguageBytes));
  return shape;
}

SearchFinds::SearchFinds(std::span<const FetchedList> lists) {
  for (const FetchedList& list : lists) {
    const std::string_view engine = list.query.engine;
    EngineFinds& finds = engines_[engine];
    if (!engine.empty() && !list.has_failed()) {
      answered_ += finds.has_answered ? 0 : 1;
      finds.has_answered = true;
      if (!finds.has_found && list.list.hits.size() >= kFewestOthersHits) {
        finds.has_found = true;
        ++found_;
      }
    }
    for (const Hit& hit : list.list.hits) {
      if (hit.key.empty()) continue;
      Finder& finder = keys_.try_emplace(hit.key, Finder{engine}).first->second;
      if (finder.engine != engine) finder.is_only_one = false;
    }
  }
  for (const auto& [key, finder] : keys_)
    if (finder.is_only_one) ++engines_[finder.engine].own_keys;
}

Others SearchFinds::besides(std::string_view engine) const {
  const auto at = engines_.find(engine);
  const bool is_there = at != engines_.end();
  const std::size_t answered = answered_ - (is_there && at->second.has_answered ? 1 : 0);
  const std::size_t found = found_ - (is_there && at->second.has_found ? 1 : 0);
  if (answered == 0) return Others::nobody;
  return 2 * found >= answered ? Others::much : Others::little;
}

bool SearchFinds::has_besides(std::string_view engine, std::string_view key) const {
  const auto at = keys_.find(key);
  return at != keys_.end() && (!at->second.is_only_one || at->second.engine != engine);
}

std::size_t SearchFinds::keys_besides(std::string_view engine) const {
  const auto at = engines_.find(engine);
  return keys_.size() - (at == engines_.end() ? 0 : at->second.own_keys);
}

}  // namespace metafuse::fetchers
