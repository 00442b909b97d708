#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/keyed_hash.h"
#include "service/http/server.h"
#include "service/http/session_io.h"

namespace metafuse::service {

/// The open connections by client, which ensures that no client takes all of them. When the table is full, it
/// closes an idle connection to make room: of the clients with the most connections, the one that has been
/// idle longest. Safe from any thread.
class ConnectionTable {
 public:
  struct Entry {
    std::string client;           ///< an address_prefix()
    std::function<void()> close;  ///< closes the connection soon, if it is still idle
    bool is_waiting = true;
    bool is_leaving = false;
  };
  using Place = std::list<Entry>::iterator;

  /// A connection's place in a table, which the destructor gives back. The table must outlive it.
  class Seat {
   public:
    Seat(ConnectionTable& table, Place place) : table_(&table), place_(place) {}
    Seat(Seat&& other) noexcept : table_(std::exchange(other.table_, nullptr)), place_(other.place_) {}
    Seat& operator=(Seat&&) = delete;
    ~Seat() {
      if (table_ != nullptr) table_->remove(place_);
    }
    void set_close(std::function<void()> close) { table_->set_close(place_, std::move(close)); }
    /// The connection could not be closed to make room, because a request came first: it counts again.
    void stay() { table_->stay(place_); }
    /// Sets whether the connection is idle, that is, waits for a request.
    void set_waiting(bool is_waiting) { table_->set_waiting(place_, is_waiting); }

   private:
    ConnectionTable* table_;
    Place place_;
  };

  /// in:  most - limit for all clients together; most_of_client - limit for one client, 0 for none
  /// out: nothing if there is no room: no other connection is idle, or the client has its share
  std::optional<Seat> add(std::string client, std::size_t most, std::size_t most_of_client);

 private:
  void set_close(Place place, std::function<void()> close);
  void set_waiting(Place place, bool is_waiting);
  void stay(Place place);
  void remove(Place place);
  bool make_room();
  void forget(Place place);

  std::mutex mutex_;
  std::list<Entry> entries_;  ///< in the order in which they last became idle or busy
  /// Connections per client, without those that are leaving.
  TextMap<std::size_t> count_;
  std::size_t staying_ = 0;
};

/// Bytes of answers that clients have not yet taken. A client that does not read would otherwise hold as much
/// memory as it can ask for until its connections time out. Safe from any thread; must outlive its accounts.
class UnsentAnswers {
 public:
  /// Most bytes of one client; a proxy, behind which are many, may have kProxyFactor times as many.
  static constexpr std::size_t kMostOfClient = std::size_t{32} << 20;
  static constexpr std::size_t kProxyFactor = 8;

  /// in:  client - an address_prefix(); bytes - at least one
  /// out: counts the bytes as long as it exists; null, and nothing is counted, if the client would have more
  ///      than it may and has some already
  std::shared_ptr<void> add(const std::string& client, std::size_t bytes, bool is_proxy);

 private:
  void remove(const std::string& client, std::size_t bytes);

  std::mutex mutex_;
  std::map<std::string, std::size_t> bytes_;
};

/// What all connections of one server share.
struct SessionContext {
  HttpHandler handler;
  RefusalAnswer refuse;
  ConnectionTable connections;
  UnsentAnswers unsent;
  std::vector<AddressRange> trusted_proxies;
  std::atomic<bool> is_draining{false};
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> busy{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<std::uint64_t> displaced{0};

  /// The limits for connections that begin now.
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

/// Serves one connection until either side closes it, on the thread of the socket's io_context. The session
/// lives as long as it has pending operations.
///
/// in: seat - the connection's place in the context's table
void run_session(SessionSocket socket, std::shared_ptr<SessionContext> context, ConnectionTable::Seat seat);

}  // namespace metafuse::service
