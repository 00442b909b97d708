#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
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

// libpq is used without blocking: every statement is sent, and its answer is waited for with poll() until a
// deadline of ours. A connection that missed its deadline is thrown away, since its answer may still come.
// Included by postgres_database.cpp alone: libpq's types go no further.

namespace metafuse::service::detail {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ClearAnswer {
  void operator()(PGresult* answer) const { PQclear(answer); }
};
using Answer = std::unique_ptr<PGresult, ClearAnswer>;

/// Until when to wait: for the whole transaction, or for each statement anew.
class Waiting {
 public:
  Waiting(const Wait& wait, const std::atomic<bool>& is_hurrying)
      : patience_(wait.patience),
        is_hurrying_(is_hurrying),
        end_(std::min<TimePoint>(now() + kRequestPatience, wait.end)) {}

  static TimePoint now() { return SteadyClock().now(); }
  TimePoint request_end() const { return end_; }
  bool is_migration() const { return patience_ == Patience::migration; }
  bool is_short() const { return patience_ == Patience::request || is_hurrying_; }
  /// When a statement that begins now must have ended.
  TimePoint statement_end() const;
  TimePoint connect_end() const;

  /// Waits until a socket is ready.
  /// out:    whether it is before the time is over
  bool wait(int socket, short events, TimePoint end) const;

 private:
  Patience patience_;
  const std::atomic<bool>& is_hurrying_;
  TimePoint end_;
};

/// What became of a statement or connection, for the pool: keep it, or throw it away and perhaps try again.
enum class Health { sound, broken, late };

/// One connection; used by one thread at a time.
class PostgresSession final : public SqlSession {
 public:
  /// in: parameters - libpq's, hosts resolved
  Result<void> open(const std::vector<std::pair<std::string, std::string>>& parameters,
                    const Waiting& waiting);

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override;
  Result<void> lock(std::string_view name) override;
  bool has_copy() const override { return true; }
  Result<void> copy(std::string_view table, std::string_view columns,
                    std::span<const std::vector<SqlValue>> rows) override;
  Result<void> notify(std::string_view channel) override;

  /// in: is_committing - set when a failure leaves open whether the work was done
  Result<void> transact(const Transaction& work, const Waiting& waiting, bool& is_committing);

  /// Outside of transactions: from now on what is notified arrives here.
  Result<void> subscribe(std::string_view channel, const Waiting& waiting);
  /// Takes what has arrived, without waiting.
  ///
  /// out:    whether somebody notified
  /// errors: unavailable: the connection is gone
  Result<bool> take_notices();
  int socket() const { return PQsocket(connection_.get()); }

  Error has_no_address();
  bool is_open() const { return is_open_; }
  Health health() const { return health_; }

 private:
  Result<void> command(std::string_view sql);
  Result<std::string> prepared(const std::string& sql);
  Result<Answer> answer();
  /// Until what was sent is on its way.
  Result<void> flush(TimePoint end);
  /// The next answer; nullptr after the last.
  Result<Answer> next_answer(TimePoint end);
  Error broken();
  Error late();

  std::unique_ptr<PGconn, FinishConnection> connection_;
  const Waiting* waiting_ = nullptr;
  Health health_ = Health::sound;
  bool is_open_ = false;
  std::map<std::string, std::string> names_;
};

}  // namespace metafuse::service::detail
