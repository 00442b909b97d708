#include "service/search/result_passages.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace metafuse::service {
namespace {

using fetchers::Passage;

constexpr std::size_t kMostPassages = 50;
/// When the search has used up its own time, its passages still get so much.
constexpr std::chrono::milliseconds kLeastTime{100};

/// What was asked, as plain words.
std::string asked_text(const SearchAnswer& answer) {
  std::string out;
  for (const templates::TypedTerm& term : answer.typed.terms) out += term.text + ' ';
  if (out.empty())
    for (const auto& [name, value] : answer.slots.slots) out += value + ' ';
  return out;
}

bool is_listed_by(const SearchAnswer& answer, const FusedResult& result, const std::string& engine) {
  return std::any_of(result.placements.begin(), result.placements.end(), [&](const Placement& place) {
    return answer.lists[place.feature].query.engine == engine;
  });
}

/// The engines of an answer's lists, each once, in the order of the lists.
std::vector<std::string> asked_engines(const SearchAnswer& answer) {
  std::vector<std::string> out;
  for (const fetchers::FetchedList& list : answer.lists)
    if (std::find(out.begin(), out.end(), list.query.engine) == out.end()) out.push_back(list.query.engine);
  return out;
}

/// A passage of a result.
struct FoundPassage {
  std::size_t position = 0;
  Passage passage;
};

std::vector<FoundPassage> find_passages(const Snapshot& snapshot, const SearchAnswer& answer,
                                        std::span<const std::size_t> positions, const Deadline& deadline) {
  const std::string asked = asked_text(answer);
  std::vector<std::size_t> wanted(positions.begin(), positions.end());
  std::vector<FoundPassage> out;
  for (const std::string& engine : asked_engines(answer)) {
    const auto others = std::stable_partition(wanted.begin(), wanted.end(), [&](std::size_t position) {
      return is_listed_by(answer, answer.results[position], engine);
    });
    std::vector<const Hit*> hits;
    for (auto at = wanted.begin(); at != others; ++at) hits.push_back(&answer.results[*at].hit);
    if (hits.empty()) continue;
    auto found = snapshot.engines.fetcher->passages(engine, asked, hits, deadline);
    if (found.size() != hits.size()) continue;  // the engine keeps no texts
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!found[i].text.empty()) out.push_back({wanted[i], std::move(found[i])});
    wanted.erase(wanted.begin(), others);
  }
  return out;
}

void use_passages(std::vector<FoundPassage> found, SearchAnswer& answer) {
  for (FoundPassage& one : found) {
    answer.results[one.position].hit.snippet = std::move(one.passage.text);
    for (std::string& word : one.passage.words)
      if (std::find(answer.matched.begin(), answer.matched.end(), word) == answer.matched.end())
        answer.matched.push_back(std::move(word));
  }
}

}  // namespace

void set_passages(const Snapshot& snapshot, std::span<const std::size_t> positions, const Deadline& deadline,
                  SearchAnswer& answer) {
  use_passages(find_passages(snapshot, answer, positions, deadline), answer);
}

SharedAnswer with_passages(const PreparedSearch& search, SharedAnswer answer, const ShownResults& shown,
                           const Clock& clock) {
  std::vector<std::size_t> positions = shown.positions;
  if (shown.total == 0)
    for (std::size_t i = 0; i < answer->results.size() - answer->hidden; ++i) positions.push_back(i);
  if (positions.size() > kMostPassages) positions.resize(kMostPassages);
  const Deadline deadline(clock, std::max<Duration>(search.end - clock.now(), kLeastTime));
  auto found = find_passages(search.snapshot, *answer, positions, deadline);
  if (found.empty()) return answer;
  auto changed = std::make_shared<SearchAnswer>(*answer);
  use_passages(std::move(found), *changed);
  return changed;
}

}  // namespace metafuse::service
