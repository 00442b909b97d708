#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace metafuse::fetchers {

/// The currently unused connections to one database; the most recently used is taken first. Thread-safe.
template <class Connection>
class IdleConnections {
 public:
  /// Returns an empty connection if none is idle.
  Connection take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Connection();
    Connection connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  /// Closes the connection if enough are kept already.
  void give_back(Connection connection) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMost) idle_.push_back(std::move(connection));
  }

 private:
  static constexpr std::size_t kMost = 8;

  std::mutex mutex_;
  std::vector<Connection> idle_;
};

}  // namespace metafuse::fetchers
