#include "service/rate_limiter.h"

#include <algorithm>
#include <chrono>

#include "core/contract.h"

namespace metafuse::service {

RateLimiter::RateLimiter(double per_second, double burst, std::size_t max_clients)
    : per_second_(per_second), burst_(std::max(1.0, burst)), max_clients_(max_clients) {
  require(max_clients > 0, "a rate limiter keeps at least one client");
}

Admission RateLimiter::take(std::string_view client, TimePoint now, double tokens) {
  if (per_second_ <= 0) return {};
  const double cost = std::min(tokens, burst_);
  const std::lock_guard lock(mutex_);
  if (const auto at = index_.find(client); at != index_.end()) {
    order_.splice(order_.begin(), order_, at->second);
  } else {
    if (order_.size() == max_clients_) {
      index_.erase(order_.back().client);
      order_.pop_back();
    }
    order_.push_front({std::string(client), burst_, now});
    index_.emplace(order_.front().client, order_.begin());
  }
  Bucket& bucket = order_.front();
  if (now > bucket.at) {
    const double rested = std::chrono::duration<double>(now - bucket.at).count();
    bucket.tokens = std::min(burst_, bucket.tokens + rested * per_second_);
    bucket.at = now;
  }
  if (bucket.tokens >= cost) {
    bucket.tokens -= cost;
    return {};
  }
  return {false, (cost - bucket.tokens) / per_second_};
}

std::size_t RateLimiter::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace metafuse::service
