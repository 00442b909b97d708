#include "service/access/rate_limiter.h"

#include <algorithm>
#include <chrono>

#include "core/contract.h"

namespace metafuse::service {

RateLimiter::RateLimiter(double per_second, double burst, std::size_t max_clients)
    : max_clients_(max_clients), per_second_(per_second), burst_(std::max(1.0, burst)) {
  require(max_clients > 0, "a rate limiter keeps at least one client");
}

RateLimiter::Bucket& RateLimiter::bucket_of(std::string_view client, TimePoint now) {
  if (const auto at = index_.find(client); at != index_.end()) {
    order_.splice(order_.begin(), order_, at->second);
  } else {
    if (order_.size() == max_clients_) {
      index_.erase(order_.back().client);
      order_.pop_back();
    }
    order_.push_front({std::string(client), burst_, now, 0});
    index_.emplace(order_.front().client, order_.begin());
  }
  Bucket& bucket = order_.front();
  if (now > bucket.at) {
    const double rested = std::chrono::duration<double>(now - bucket.at).count();
    bucket.tokens = std::min(burst_, bucket.tokens + rested * per_second_);
    bucket.at = now;
  }
  return bucket;
}

Admission RateLimiter::take(std::string_view client, TimePoint now, double tokens) {
  const std::lock_guard lock(mutex_);
  if (per_second_ <= 0) return {};
  const double cost = std::min(tokens, burst_);
  Bucket& bucket = bucket_of(client, now);
  if (bucket.tokens >= cost) {
    bucket.tokens -= cost;
    bucket.used += cost;
    return {};
  }
  return {false, (cost - bucket.tokens) / per_second_};
}

Admission RateLimiter::look(std::string_view client, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (per_second_ <= 0) return {};
  const double tokens = bucket_of(client, now).tokens;
  if (tokens >= 1) return {};
  return {false, (1 - tokens) / per_second_};
}

void RateLimiter::set_rate(double per_second, double burst) {
  const std::lock_guard lock(mutex_);
  per_second_ = per_second;
  burst_ = std::max(1.0, burst);
  for (Bucket& bucket : order_) bucket.tokens = std::min(bucket.tokens, burst_);
}

double RateLimiter::per_second() const {
  const std::lock_guard lock(mutex_);
  return per_second_;
}

double RateLimiter::burst() const {
  const std::lock_guard lock(mutex_);
  return burst_;
}

std::vector<RateLimiter::Use> RateLimiter::take_uses() {
  const std::lock_guard lock(mutex_);
  std::vector<Use> uses;
  for (Bucket& bucket : order_) {
    if (bucket.used <= 0) continue;
    uses.push_back({bucket.client, bucket.used});
    bucket.used = 0;
  }
  return uses;
}

void RateLimiter::bound(std::string_view client, double tokens) {
  const std::lock_guard lock(mutex_);
  const auto at = index_.find(client);
  if (at == index_.end()) return;
  Bucket& bucket = *at->second;
  bucket.tokens = std::min(bucket.tokens, tokens - bucket.used);
}

std::size_t RateLimiter::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace metafuse::service
