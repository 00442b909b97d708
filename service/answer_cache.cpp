#include "service/answer_cache.h"

#include <utility>

namespace metafuse::service {

AnswerCache::AnswerCache(std::size_t entries, Duration lifetime, const Clock& clock)
    : entries_(entries), lifetime_(lifetime), clock_(clock) {}

SharedAnswer AnswerCache::find(const std::string& key) {
  const auto at = index_.find(key);
  if (at == index_.end()) return nullptr;
  if (at->second->until <= clock_.now()) {
    order_.erase(at->second);
    index_.erase(at);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, at->second);
  return at->second->answer;
}

void AnswerCache::keep(const std::string& key, SharedAnswer answer) {
  if (entries_ == 0 || lifetime_ <= Duration::zero() || answer->has_failures() || index_.contains(key))
    return;
  order_.push_front({key, std::move(answer), clock_.now() + lifetime_});
  index_[key] = order_.begin();
  if (order_.size() <= entries_) return;
  index_.erase(order_.back().key);
  order_.pop_back();
}

Result<SharedAnswer> AnswerCache::get(const std::string& key,
                                      const std::function<Result<SearchAnswer>()>& make, bool& was_cached) {
  std::unique_lock lock(mutex_);
  was_cached = true;
  if (SharedAnswer answer = find(key)) return answer;
  if (const auto at = flights_.find(key); at != flights_.end()) {
    const std::shared_ptr<Flight> flight = at->second;
    flight->done.wait(lock, [&] { return flight->is_done; });
    return flight->outcome;
  }
  was_cached = false;
  const auto flight = std::make_shared<Flight>();
  flights_[key] = flight;
  lock.unlock();
  auto made = make();
  lock.lock();
  if (made.has_value())
    flight->outcome = std::make_shared<const SearchAnswer>(std::move(*made));
  else
    flight->outcome = made.error();
  if (flight->outcome.has_value()) keep(key, *flight->outcome);
  flight->is_done = true;
  flights_.erase(key);
  flight->done.notify_all();
  return flight->outcome;
}

SharedAnswer AnswerCache::peek(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return find(key);
}

void AnswerCache::clear() {
  const std::lock_guard lock(mutex_);
  order_.clear();
  index_.clear();
}

std::size_t AnswerCache::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace metafuse::service
