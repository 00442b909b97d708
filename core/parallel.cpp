#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace metafuse {

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  const std::size_t helpers =
      std::min<std::size_t>(std::max(threads, 1U), std::max<std::size_t>(count, 1)) - 1;
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

unsigned hardware_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace metafuse
