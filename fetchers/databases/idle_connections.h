#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace metafuse::fetchers {

/// Connections of one database that nobody uses at the moment, the newest first. From any thread.
template <class Connection>
class IdleConnections {
 public:
  /// An empty connection where there is none.
  Connection take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Connection();
    Connection connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  /// One more than are kept is closed.
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
