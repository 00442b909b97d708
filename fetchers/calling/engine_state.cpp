#include "fetchers/calling/engine_state.h"

#include <algorithm>
#include <utility>

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxLateLists = 256;
constexpr auto kLateListAge = std::chrono::seconds(60);
constexpr std::size_t kMostLateWork = 16;
constexpr std::size_t kMostWaitingSearches = 256;  // of one sender, for one engine

/// Part of the cache key: a list obtained with a user's own token must not be given to anyone else.
std::string forwarded_text(const FetchOptions& options) {
  std::string out;
  for (const auto& [name, value] : options.forwarded)
    out += '\n' + std::to_string(name.size()) + ' ' + std::to_string(value.size()) + ' ' + name + value;
  return out;
}

/// What a reranker was asked to order.
std::string documents_text(const FetchOptions& options) {
  std::string out;
  if (options.documents != nullptr)
    for (const Hit& hit : *options.documents) out += '\n' + hit.key;
  return out;
}

}  // namespace

std::string late_key(const ExpandedQuery& query, const FetchOptions& options) {
  return query.engine + '\n' + query.text + '\n' + std::to_string(options.depth) + ' ' +
         std::to_string(options.page) + ' ' + options.language + ' ' + options.time_range + ' ' +
         std::to_string(options.safe_search) + forwarded_text(options) + documents_text(options);
}

void LateLists::put(std::string key, RankedList list, TimePoint now) {
  const std::lock_guard lock(mutex_);
  while (entries_.size() >= kMaxLateLists ||
         (entries_.size() > 0 && now - entries_.oldest().at > kLateListAge))
    entries_.remove_oldest();
  entries_.put(std::move(key), {std::move(list), now});
  count_ = entries_.size();
}

std::optional<RankedList> LateLists::find(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const Entry* found = entries_.peek(key);
  if (found == nullptr || now - found->at > kLateListAge) return std::nullopt;
  return found->list;
}

bool EngineState::run_in_turn(BlockingSearch search, BlockingWorkers& workers, const Clock& clock) {
  {
    const std::lock_guard lock(mutex);
    const std::string sender = search.sender;
    if (turns.waiting_of(sender) >= kMostWaitingSearches) return false;
    turns.push(sender, std::move(search), clock.now());
  }
  start_searches(workers, clock);
  return true;
}

void EngineState::start_searches(BlockingWorkers& workers, const Clock& clock) {
  const auto next = [&] {
    const std::lock_guard lock(mutex);
    return turns.take(engine.max_connections, clock.now());
  };
  while (auto search = next())
    workers.run([this, &workers, &clock, search = std::move(*search)] {
      search.run();
      {
        const std::lock_guard lock(mutex);
        turns.end(search.sender);
      }
      start_searches(workers, clock);
    });
}

bool EngineState::is_hopeless(const std::string& sender, Duration wait) {
  const std::lock_guard lock(mutex);
  const auto quickest = learned_wait.quickest(sender);
  return quickest && 2 * wait < *quickest;
}

void RequestBudget::earn() {
  const std::lock_guard lock(mutex_);
  left_ = std::min(most_, left_ + per_request_);
}

bool RequestBudget::take(int requests) {
  const std::lock_guard lock(mutex_);
  if (left_ < requests) return false;
  left_ -= requests;
  return true;
}

EngineState* FetcherState::find(std::string_view name) const {
  for (const auto& state : engines)
    if (state->engine.name == name) return state.get();
  return nullptr;
}

bool FetcherState::run_late(std::function<void()> work) {
  if (is_ending) return false;
  if (!options.run_late) return late_work.run(std::move(work));
  options.run_late(std::move(work));
  return true;
}

bool FetcherState::is_behind() const {
  return late_work.waiting() > kMostLateWork;
}

}  // namespace metafuse::fetchers
