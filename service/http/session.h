#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "service/http/server.h"
#include "service/http/session_io.h"

namespace metafuse::service {

/// The open connections by client, so that none can take all of them. A full table makes room: of the clients
/// with the most connections, the one that has waited longest for a request is closed. From any thread.
class ConnectionTable {
 public:
  struct Entry {
    std::string client;           ///< an address_prefix()
    std::function<void()> close;  ///< closes the connection soon, if it still waits for a request
    bool is_waiting = true;
    bool is_leaving = false;
  };
  using Place = std::list<Entry>::iterator;

  /// A connection's place in a table, which it gives back when it goes away. The table must outlive it.
  class Seat {
   public:
    Seat(ConnectionTable& table, Place place) : table_(&table), place_(place) {}
    Seat(Seat&& other) noexcept : table_(std::exchange(other.table_, nullptr)), place_(other.place_) {}
    Seat& operator=(Seat&&) = delete;
    ~Seat() {
      if (table_ != nullptr) table_->remove(place_);
    }
    void set_close(std::function<void()> close) { table_->set_close(place_, std::move(close)); }
    /// Whether the connection waits for a request, from now on.
    void set_waiting(bool is_waiting) { table_->set_waiting(place_, is_waiting); }

   private:
    ConnectionTable* table_;
    Place place_;
  };

  /// in:  most - connections of all clients; most_of_client - 0 for no such limit
  /// out: nothing when there is no room: whoever is there is being answered, or the client has its share
  std::optional<Seat> add(std::string client, std::size_t most, std::size_t most_of_client);

 private:
  void set_close(Place place, std::function<void()> close);
  void set_waiting(Place place, bool is_waiting);
  void remove(Place place);
  bool make_room();
  void forget(Place place);

  std::mutex mutex_;
  std::list<Entry> entries_;  ///< in the order in which they began to wait, or to be answered
  std::unordered_map<std::string, std::size_t> count_;  ///< of each client, without those that leave
  std::size_t staying_ = 0;
};

/// What all connections of one server share.
struct SessionContext {
  HttpHandler handler;
  ConnectionTable connections;
  std::atomic<bool> is_draining{false};
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> busy{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<std::uint64_t> displaced{0};

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
///
/// in: seat - in the context's table
void run_session(SessionSocket socket, std::shared_ptr<SessionContext> context, ConnectionTable::Seat seat);

}  // namespace metafuse::service
