#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/sql_database.h"

// One PostgreSQL connection. libpq is used in non-blocking mode: every statement is sent, and poll() waits
// for its answer until our deadline. A connection that missed its deadline is discarded, because its answer
// may still arrive. Only postgres_database.cpp and postgres_session.cpp include this header, so that libpq's
// types stay there.

namespace metafuse::service::detail {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ClearAnswer {
  void operator()(PGresult* answer) const { PQclear(answer); }
};
using Answer = std::unique_ptr<PGresult, ClearAnswer>;

/// Computes how long to wait: one deadline for the whole transaction, or a new one for each statement.
class Waiting {
 public:
  Waiting(const Wait& wait, const std::atomic<bool>& is_hurrying)
      : patience_(wait.patience),
        is_hurrying_(is_hurrying),
        end_(std::min<TimePoint>(now() + kRequestPatience, wait.end)) {}

  static TimePoint now() { return machine_clock().now(); }
  bool is_migration() const { return patience_ == Patience::migration; }
  bool is_short() const { return patience_ == Patience::request || is_hurrying_; }
  /// The deadline of a statement that begins now.
  TimePoint statement_end() const;
  TimePoint connect_end() const;

  /// Waits until a socket is ready.
  ///
  /// out: false if the time was over first
  bool wait(int socket, short events, TimePoint end) const;

 private:
  Patience patience_;
  const std::atomic<bool>& is_hurrying_;
  TimePoint end_;
};

/// The state of a connection, for the pool: keep it, or discard it and perhaps try again.
enum class Health { sound, broken, late };

/// One connection; used by one thread at a time.
class PostgresSession final : public SqlSession {
 public:
  /// in: parameters - libpq's, with host names resolved
  Result<void> open(const std::vector<std::pair<std::string, std::string>>& parameters,
                    const Waiting& waiting);

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override;
  Result<void> lock(std::string_view name) override;
  bool has_copy() const override { return true; }
  Result<void> copy(std::string_view table, std::string_view columns,
                    std::span<const std::vector<SqlValue>> rows) override;
  Result<void> notify(std::string_view channel) override;

  /// in: is_committing - set if a failure leaves it open whether the transaction was committed
  Result<void> transact(const Transaction& work, const Waiting& waiting, bool& is_committing);

  /// Subscribes this connection to a channel's notifications. Must be called outside of transactions.
  Result<void> subscribe(std::string_view channel, const Waiting& waiting);
  /// Takes the notifications that have arrived, without waiting.
  ///
  /// out:    whether there were any
  /// errors: unavailable: the connection is gone
  Result<bool> take_notices();
  int socket() const { return PQsocket(connection_.get()); }

  Error has_no_address();
  bool is_open() const { return is_open_; }
  /// Whether the server rolled the last transaction back because of another one, so that it may succeed when
  /// it is tried again.
  bool has_given_way() const { return has_given_way_; }
  Health health() const { return health_; }

 private:
  Result<void> command(std::string_view sql);
  Result<std::string> prepared(const std::string& sql);
  Result<Answer> answer();
  /// Waits until everything that was queued has been sent.
  Result<void> flush(TimePoint end);
  /// The next answer; nullptr after the last one.
  Result<Answer> next_answer(TimePoint end);
  Error broken();
  Error late();

  std::unique_ptr<PGconn, FinishConnection> connection_;
  const Waiting* waiting_ = nullptr;
  Health health_ = Health::sound;
  bool is_open_ = false;
  bool has_given_way_ = false;
  std::map<std::string, std::string> names_;
};

}  // namespace metafuse::service::detail
