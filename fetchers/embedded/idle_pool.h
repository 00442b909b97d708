#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace metafuse::fetchers {

/// Objects that a search uses exclusively and that are worth keeping for later searches, such as
/// connections. Thread-safe.
template <class Kept>
class IdlePool {
 public:
  /// nullptr when none is idle.
  std::unique_ptr<Kept> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto kept = std::move(idle_.back());
    idle_.pop_back();
    return kept;
  }

  void give_back(std::unique_ptr<Kept> kept) {
    constexpr std::size_t kMaxIdle = 16;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(kept));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Kept>> idle_;
};

}  // namespace metafuse::fetchers
