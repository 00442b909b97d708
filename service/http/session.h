#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "service/http/server.h"
#include "service/http/session_io.h"

namespace metafuse::service {

/// What all connections of one server share.
struct SessionContext {
  HttpHandler handler;
  std::atomic<bool> is_draining{false};
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> busy{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> timed_out{0};

  /// Of connections that begin now.
  std::shared_ptr<const LimitsConfig> limits() const {
    const std::lock_guard lock(limits_mutex_);
    return limits_;
  }
  void set_limits(const LimitsConfig& limits) {
    const std::lock_guard lock(limits_mutex_);
    limits_ = std::make_shared<const LimitsConfig>(limits);
  }

 private:
  mutable std::mutex limits_mutex_;
  std::shared_ptr<const LimitsConfig> limits_;
};

/// Serves one connection until either side has enough, on the thread of the socket's io_context. Its life is
/// that of its pending operations.
void run_session(SessionSocket socket, std::shared_ptr<SessionContext> context);

}  // namespace metafuse::service
