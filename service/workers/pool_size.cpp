#include "service/workers/pool_size.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace metafuse::service {
namespace {

constexpr unsigned kWorkersPerCore = 32;
constexpr unsigned kRunningPerCore = 3;

unsigned core_count() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Searches that run together share the fetcher's passes over the sockets, which costs them less.
std::size_t running_when_busy() {
  return kRunningPerCore * core_count();
}

/// Each is then done as soon as it can be, all of them a little later.
std::size_t running_in_crowd() {
  return core_count();
}

}  // namespace

unsigned worker_count(const ServerConfig& config) {
  return config.workers > 0 ? config.workers : kWorkersPerCore * core_count();
}

QueueLimits queue_limits(const LimitsConfig& limits) {
  return {limits.max_queue,
          std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::duration<double>(limits.queue_seconds)),
          running_when_busy(), running_in_crowd()};
}

}  // namespace metafuse::service
