#include "service/cache/answer_cache.h"

#include <algorithm>
#include <utility>

namespace metafuse::service {
namespace {

/// Bytes of a string or a small struct in a vector, beyond its characters.
constexpr std::size_t kObjectBytes = 64;

/// Bytes of the allocations for a hit's texts, beyond their characters.
constexpr std::size_t kHitAllocationBytes = 5 * 24;

std::size_t memory_of(const Hit& hit) {
  return sizeof(Hit) + kHitAllocationBytes + hit.url.size() + hit.title.size() + hit.snippet.size() +
         hit.published.size() + hit.thumbnail.size() + hit.language.size();
}

}  // namespace

std::size_t memory_of(const SearchAnswer& answer) {
  std::size_t bytes = sizeof(SearchAnswer);
  for (const fetchers::FetchedList& list : answer.lists) {
    bytes += sizeof(fetchers::FetchedList) + list.query.text.size() + list.message.size();
    // every hit also has a canonical key, about as long as its URL
    for (const Hit& hit : list.list.hits) bytes += memory_of(hit) + hit.url.size() + kObjectBytes;
    for (const std::string& text : list.list.suggestions) bytes += kObjectBytes + text.size();
  }
  for (const FusedResult& result : answer.results)
    bytes += sizeof(FusedResult) + memory_of(result.hit) + result.key.size() +
             result.placements.size() * sizeof(Placement) + answer.lists.size() * sizeof(std::uint32_t);
  return bytes;
}

AnswerCache::AnswerCache(std::size_t entries, Duration lifetime, const Clock& clock, std::size_t max_bytes)
    : lifetime_(lifetime), clock_(clock), cache_(entries, max_bytes) {}

SharedAnswer AnswerCache::find(const std::string& key) {
  const auto* entry = cache_.find(key, clock_.now());
  return entry == nullptr ? nullptr : entry->value;
}

void AnswerCache::keep(const std::string& key, SharedAnswer answer) {
  if (lifetime_ <= Duration::zero() || answer->has_failures()) return;
  const std::size_t bytes = memory_of(*answer) + 2 * key.size();
  cache_.keep(key, std::move(answer), clock_.now() + lifetime_, bytes);
}

void AnswerCache::land(const std::string& key, const std::shared_ptr<Flight>& flight,
                       Result<SharedAnswer> outcome) {
  const std::lock_guard lock(mutex_);
  flight->outcome = std::move(outcome);
  if (flight->outcome.has_value()) keep(key, *flight->outcome);
  flight->is_done = true;
  const auto [begin, end] = flights_.equal_range(key);
  flights_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == flight; }));
  flight->done.notify_all();
}

std::shared_ptr<AnswerCache::Flight> AnswerCache::find_flight(const std::string& key, TimePoint end) const {
  const auto [first, last] = flights_.equal_range(key);
  const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second->end <= end; });
  return at == last ? nullptr : at->second;
}

Result<SharedAnswer> AnswerCache::get(const std::string& key,
                                      const std::function<Result<SearchAnswer>()>& make, bool& was_cached,
                                      TimePoint end) {
  const auto flight = std::make_shared<Flight>();
  flight->end = end;
  {
    std::unique_lock lock(mutex_);
    was_cached = true;
    if (SharedAnswer answer = find(key)) return answer;
    if (const auto other = find_flight(key, end)) {
      ++waiting_;
      const auto is_done = [&] { return other->is_done; };
      if (end == TimePoint::max())
        other->done.wait(lock, is_done);
      else
        other->done.wait_for(lock, end - clock_.now() + kGrace, is_done);
      --waiting_;
      if (is_done()) return other->outcome;
      return fail(Code::try_again,
                  "the same search is already running and did not finish in time; try again");
    }
    was_cached = false;
    flights_.emplace(key, flight);
  }
  try {
    auto made = make();
    Result<SharedAnswer> outcome = SharedAnswer();
    if (made.has_value())
      outcome = std::make_shared<const SearchAnswer>(std::move(*made));
    else
      outcome = made.error();
    land(key, flight, outcome);
    return outcome;
  } catch (...) {
    land(key, flight, fail(Code::internal, "the search that this one waited for was aborted"));
    throw;
  }
}

SharedAnswer AnswerCache::peek(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return find(key);
}

std::optional<TimePoint> AnswerCache::popular_until(const std::string& key,
                                                    const SearchAnswer& answer) const {
  const std::lock_guard lock(mutex_);
  const auto* entry = cache_.peek(key, clock_.now());
  if (entry == nullptr || entry->value.get() != &answer || entry->uses == 0) return std::nullopt;
  return entry->until;
}

void AnswerCache::clear() {
  const std::lock_guard lock(mutex_);
  cache_.clear();
}

std::size_t AnswerCache::size() const {
  const std::lock_guard lock(mutex_);
  return cache_.size();
}

std::size_t AnswerCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return cache_.bytes();
}

std::size_t AnswerCache::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace metafuse::service
