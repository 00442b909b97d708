#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace metafuse {

/// Handles that one user needs exclusively and that are worth keeping for the next one, such as connections.
/// The most recently used handle is taken first. Thread-safe.
///
/// in: Handle - owns its object; a default-constructed one is empty
template <class Handle>
class IdlePool {
 public:
  /// in: most - how many idle handles are kept
  explicit IdlePool(std::size_t most = 16) : most_(most) {}

  /// Returns an empty handle if none is idle.
  Handle take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Handle();
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }

  /// Destroys the handle if enough are kept already.
  void give_back(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_) idle_.push_back(std::move(handle));
  }

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

}  // namespace metafuse
