#include "service/access/rates.h"

#include <algorithm>
#include <chrono>

#include "core/contract.h"
#include "core/digest.h"
#include "core/number.h"

namespace metafuse::service {
namespace {

constexpr std::chrono::milliseconds kBetweenExchanges{100};
constexpr std::chrono::hours kUsageLifetime{48};

/// A token bucket by Redis' own clock. KEYS: the bucket; ARGV: tokens per second, burst, tokens taken. A
/// bucket may be overdrawn by one burst, because processes take tokens before they hear of each other.
/// Returns the tokens left.
constexpr std::string_view kBucketScript = R"(
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local rate, burst, used = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if bucket[1] then tokens = math.min(burst, bucket[1] + (now - bucket[2]) * rate) end
tokens = math.max(-burst, tokens - used)
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(2000 * burst / rate) + 1000)
return tostring(tokens)
)";

}  // namespace

RateLimiter::RateLimiter(double per_second, double burst, std::size_t max_clients)
    : max_clients_(max_clients), per_second_(per_second), burst_(std::max(1.0, burst)) {
  require(max_clients > 0, "a rate limiter keeps at least one client");
}

RateLimiter::Bucket& RateLimiter::bucket_of(std::string_view client, TimePoint now) {
  Bucket* known = buckets_.use(client);
  if (known == nullptr) {
    if (buckets_.size() == max_clients_) buckets_.remove_oldest();
    known = &buckets_.put(std::string(client), {burst_, now, 0});
  }
  Bucket& bucket = *known;
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

void RateLimiter::give_back(std::string_view client, TimePoint now, double tokens) {
  const std::lock_guard lock(mutex_);
  if (per_second_ <= 0) return;
  Bucket& bucket = bucket_of(client, now);
  const double cost = std::min({tokens, burst_, burst_ - bucket.tokens});
  bucket.tokens += cost;
  bucket.used -= cost;
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
  for (auto& [client, bucket] : buckets_) bucket.tokens = std::min(bucket.tokens, burst_);
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
  for (auto& [client, bucket] : buckets_) {
    if (bucket.used <= 0) continue;
    uses.push_back({client, bucket.used});
    bucket.used = 0;
  }
  return uses;
}

void RateLimiter::bound(std::string_view client, double tokens) {
  const std::lock_guard lock(mutex_);
  Bucket* const bucket = buckets_.peek(client);
  if (bucket != nullptr) bucket->tokens = std::min(bucket->tokens, tokens - bucket->used);
}

std::size_t RateLimiter::size() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

SharedLimits::SharedLimits(RedisAddress address, const Clock& clock, RateLimiter& limiter)
    : redis_(std::move(address), clock), limiter_(limiter), thread_([this] { exchange_until_stopped(); }) {}

SharedLimits::~SharedLimits() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stops_.notify_all();
  thread_.join();
}

SharedUsage SharedLimits::usage() {
  return [this](std::string_view key, std::int64_t day,
                std::uint64_t amount) -> std::optional<std::uint64_t> {
    const std::string name = "metafuse:usage:" + std::to_string(day) + ':' + sha256_hex(key).substr(0, 32);
    const auto sum = redis_.add(name, static_cast<std::int64_t>(amount), kUsageLifetime);
    if (!sum || *sum < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*sum);
  };
}

void SharedLimits::exchange() {
  const std::lock_guard exchange_lock(exchange_mutex_);
  const std::string rate = number_text(limiter_.per_second());
  const std::string burst = number_text(limiter_.burst());
  for (const RateLimiter::Use& use : limiter_.take_uses()) {
    // Redis gets a digest; the address itself does not leave this process
    const std::string key = "metafuse:rate:" + sha256_hex(use.client).substr(0, 32);
    const auto left = redis_.run_script(kBucketScript, key, {rate, burst, number_text(use.tokens)});
    if (!left) return;
    double tokens = 0;
    if (to_double(*left, tokens)) limiter_.bound(use.client, tokens);
  }
}

void SharedLimits::exchange_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stops_.wait_for(lock, kBetweenExchanges, [this] { return is_stopping_; })) {
    lock.unlock();
    exchange();
    lock.lock();
  }
}

}  // namespace metafuse::service
