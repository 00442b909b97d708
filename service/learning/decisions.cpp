#include "service/learning/decisions.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "core/json.h"
#include "service/learning/judge_grades.h"
#include "service/search/alike_results.h"

namespace metafuse::service {
namespace {

/// How long a search waits for decisions that have just changed.
constexpr std::chrono::milliseconds kLongestWait{100};
/// The same before there are any, because without them hidden results would be shown.
constexpr std::chrono::milliseconds kLongestFirstWait{2000};

Result<DomainDecisions> read_decisions(Store& store, const std::string& domain,
                                       const DecisionOptions& options) {
  DomainDecisions out;
  if (options.are_judged_first) {
    TRY(const auto judged, judged_by_people(store, domain));
    for (const JudgedQuery& query : judged) out.queries[query.query].grades = grades_of(query);
  }
  TRY(const auto stored, stored_curation(store, domain));
  TRY(auto curation, parse_curation(stored.text, *options.tracking));
  const StoreIdentity& identity = options.identity;
  for (CuratedQuery& query : curation.queries) {
    const BaseQuery slots{{{plain_slot_name(identity.plain_slot), query.query}}};
    const std::string digest = query_digest(identity.secret, domain, slots, identity.plain_slot);
    out.queries[digest].curated = std::move(query);
  }
  out.synonyms = std::move(curation.synonyms);
  return out;
}

/// A text that changes whenever a domain's judgments or its curation do.
Result<std::string> marks_of(Store& store, const std::string& domain) {
  TRY(std::string marks, store.judgments.mark(domain));
  TRY(const auto versions, store.templates.all(curation_name(domain)));
  if (!versions.empty()) marks += std::to_string(versions.front().number);
  return marks;
}

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::size_t find(const std::vector<CuratedResult>& results, const std::string& key) {
  const auto at = std::find_if(results.begin(), results.end(),
                               [&](const CuratedResult& result) { return result.key == key; });
  return at == results.end() ? kNone : static_cast<std::size_t>(at - results.begin());
}

/// A result's place among the decided ones: smaller comes first. Decisions count within a window, because
/// earlier pages were shown without the later ones.
struct Place {
  enum Group { pinned, added, graded, rest, bad, hidden } group = rest;
  std::size_t within = 0;
  std::uint32_t window = 0;

  friend bool operator<(const Place& a, const Place& b) {
    const auto parts = [](const Place& place) {
      return std::tuple(place.group == hidden, place.window, place.group, place.within);
    };
    return parts(a) < parts(b);
  }
};

/// Applies one query's decisions to the results of one answer.
class Deciding {
 public:
  Deciding(const QueryDecisions& decisions, const StoreIdentity& identity)
      : decisions_(decisions), identity_(identity) {
    for (const auto& [document, grade] : decisions.grades) best_ = std::max(best_, grade);
  }

  /// Marks a result with what was decided about it. What is added is there whatever the engines find, so a
  /// later window that finds it leaves it in the first.
  ///
  /// in: at - its place before
  Place place_of(FusedResult& result, std::size_t at) const {
    if (find(decisions_.curated.added, result.hit.key) != kNone) result.window = 0;
    Place place = place_within(result, at);
    place.window = result.window;
    return place;
  }

 private:
  Place place_within(FusedResult& result, std::size_t at) const {
    const CuratedQuery& curated = decisions_.curated;
    if (find(curated.hidden, result.hit.key) != kNone) return {Place::hidden, at};
    const auto grade = decisions_.grades.find(stored_document(identity_, result.hit.key));
    if (grade != decisions_.grades.end()) result.grade = grade->second;
    if (const std::size_t pin = find(curated.pinned, result.hit.key); pin != kNone) {
      result.decided = Decided::pinned;
      return {Place::pinned, pin};
    }
    if (const std::size_t added = find(curated.added, result.hit.key); added != kNone) {
      result.decided = Decided::added;
      return {Place::added, added};
    }
    if (!result.grade) return {Place::rest, at};
    if (*result.grade == 0) return {Place::bad, at};
    if (2 * *result.grade < best_) return {Place::rest, at};
    return {Place::graded, static_cast<std::size_t>(best_ - *result.grade)};
  }

  const QueryDecisions& decisions_;
  const StoreIdentity& identity_;
  int best_ = 1;
};

/// A result that no list placed.
FusedResult lone_result(Hit hit) {
  FusedResult out;
  out.hit = std::move(hit);
  out.document = FusedResult::kNoDocument;
  return out;
}

void append(std::vector<FusedResult> more, SearchAnswer& answer) {
  std::move(more.begin(), more.end(), std::back_inserter(answer.results));
  if (!answer.teams.empty()) answer.teams.resize(answer.results.size(), Team::none);
}

/// Lets decisions count for what is folded below results: what is hidden is left out, what is pinned or added
/// comes up, and below a hidden result the next one takes its place, or comes up in its own window.
void settle_folded(const CuratedQuery& curated, SearchAnswer& answer) {
  const auto is_hidden = [&](const Hit& hit) { return find(curated.hidden, hit.key) != kNone; };
  const auto is_wanted = [&](const Hit& hit) {
    return find(curated.pinned, hit.key) != kNone || find(curated.added, hit.key) != kNone;
  };
  std::vector<FusedResult> more;
  for (FusedResult& result : answer.results) {
    choose_head(result, is_hidden, is_wanted, more);
    auto& below = result.same_site;
    const auto wanted = std::stable_partition(below.begin(), below.end(), std::not_fn(is_wanted));
    for (auto at = wanted; at != below.end(); ++at) more.push_back(risen_result(std::move(*at), result));
    below.erase(wanted, below.end());
    if (below.empty() || !is_hidden(result.hit)) continue;
    const auto first = std::ranges::min_element(below, {}, &FoldedHit::window);
    FusedResult next = risen_result(std::move(*first), result);
    below.erase(first);
    next.same_site = std::exchange(below, {});
    if (next.window == result.window) std::swap(result, next);
    more.push_back(std::move(next));
  }
  append(std::move(more), answer);
}

/// Adds the added results that no engine found.
void add_missing(const CuratedQuery& curated, SearchAnswer& answer) {
  std::set<std::string_view> keys;
  for (const FusedResult& result : answer.results) keys.insert(result.hit.key);
  std::vector<FusedResult> missing;
  for (const CuratedResult& added : curated.added) {
    if (keys.contains(added.key)) continue;
    Hit hit;
    hit.url = added.url;
    hit.title = added.title;
    hit.snippet = added.snippet;
    hit.key = added.key;
    missing.push_back(lone_result(std::move(hit)));
  }
  append(std::move(missing), answer);
}

}  // namespace

Decisions::Decisions(Store& store) : store_(store), reader_([this] { read_until_stopped(); }) {}

Decisions::~Decisions() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  is_wanted_.notify_all();
  reader_.join();
}

std::shared_ptr<const DomainDecisions> Decisions::of(const std::string& domain,
                                                     const DecisionOptions& options) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[domain];
  if (entry.is_stale) {
    entry.is_stale = false;  // also after a failure: look() finds out that the marks differ
    ++entry.under_way;
    entry.awaited_until =
        std::chrono::steady_clock::now() + (entry.was_read ? kLongestWait : kLongestFirstWait);
    const StoreIdentity& identity = options.identity;
    wanted_.push_back(
        {domain, options, std::string(identity.secret), std::string(identity.plain_slot), *options.tracking});
    is_wanted_.notify_one();
  }
  was_read_.wait_until(lock, entry.awaited_until, [&] { return entry.under_way == 0; });
  return entry.decisions;
}

void Decisions::read_until_stopped() {
  std::unique_lock lock(mutex_);
  while (true) {
    is_wanted_.wait(lock, [this] { return is_stopping_ || !wanted_.empty(); });
    if (is_stopping_) return;
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    lock.unlock();
    read(wanted);
    lock.lock();
  }
}

void Decisions::read(const Wanted& wanted) {
  DecisionOptions options = wanted.options;
  options.identity.secret = wanted.secret;
  options.identity.plain_slot = wanted.plain_slot;
  options.tracking = &wanted.tracking;
  std::string marks;
  const auto read_all = [&]() -> Result<DomainDecisions> {
    try {
      TRY(marks,
          marks_of(store_, wanted.domain));  // before the rest, so that look() sees what comes meanwhile
      return read_decisions(store_, wanted.domain, options);
    } catch (const std::exception& error) {
      return fail(Code::internal, error.what());  // no memory: the earlier ones stay
    }
  };
  auto read = read_all();
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[wanted.domain];
    --entry.under_way;
    if (read) {
      entry.decisions = std::make_shared<const DomainDecisions>(std::move(*read));
      entry.was_read = true;
      entry.marks = std::move(marks);
    } else {
      entry.marks.clear();
    }
    ++changes_;  // answers were perhaps rendered without them
  }
  was_read_.notify_all();
}

void Decisions::note(const std::string& domain) {
  const std::lock_guard lock(mutex_);
  entries_[domain].is_stale = true;
  ++changes_;
}

Result<void> Decisions::look(const std::string& domain) {
  TRY(std::string marks, marks_of(store_, domain));
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[domain];
  if (entry.marks == marks) return {};
  entry.marks = std::move(marks);
  entry.is_stale = true;
  ++changes_;
  return {};
}

Result<StoredCuration> stored_curation(Store& store, std::string_view domain) {
  const std::string name = curation_name(domain);
  TRY(const auto versions, store.templates.all(name));
  if (versions.empty()) return StoredCuration();
  TRY(const auto latest, store.templates.find(name, versions.front().number));
  if (!latest) return StoredCuration();
  return StoredCuration{latest->text, latest->number};
}

SearchAnswer decided_answer(const SearchAnswer& answer, const QueryDecisions& decisions,
                            const StoreIdentity& identity) {
  SearchAnswer out = answer;
  settle_folded(decisions.curated, out);
  add_missing(decisions.curated, out);
  const Deciding deciding(decisions, identity);
  std::vector<std::pair<Place, std::size_t>> order;
  for (std::size_t i = 0; i < out.results.size(); ++i)
    order.emplace_back(deciding.place_of(out.results[i], i), i);
  std::stable_sort(order.begin(), order.end());
  const std::vector<FusedResult> before = out.results;
  const std::vector<Team> teams = out.teams;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [place, from] = order[i];
    out.results[i] = before[from];
    // Clients that sort by it must get this order.
    out.results[i].relative_score = before[std::min(i, answer.results.size() - 1)].relative_score;
    if (!teams.empty()) out.teams[i] = place.group == Place::rest ? teams[from] : Team::none;
    if (place.group == Place::hidden) ++out.hidden;
  }
  return out;
}

}  // namespace metafuse::service
