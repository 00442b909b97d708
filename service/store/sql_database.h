#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/listener.h"

namespace metafuse::service {

/// A value bound to $1, $2 ... of a statement. Text must be UTF-8 without NUL.
using SqlValue = std::variant<std::int64_t, double, std::string_view>;

/// One cell of a row.
using SqlCell = std::variant<std::int64_t, double, std::string>;
using SqlRow = std::span<const SqlCell>;
using TakeRow = std::function<Result<void>(SqlRow row)>;

inline std::int64_t integer_of(const SqlCell& cell) {
  if (const auto* value = std::get_if<std::int64_t>(&cell)) return *value;
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr ? static_cast<std::int64_t>(*number) : 0;
}
inline double number_of(const SqlCell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return static_cast<double>(integer_of(cell));
}
inline std::string text_of(const SqlCell& cell) {
  const auto* value = std::get_if<std::string>(&cell);
  return value != nullptr ? *value : std::string();
}

/// One connection inside a transaction.
class SqlSession {
 public:
  virtual ~SqlSession() = default;

  /// Runs one statement of the SQL that SQLite and PostgreSQL share; parameters are $1, $2 ... in the order
  /// in which they first appear. Statements are prepared once per connection.
  virtual Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) = 0;

  /// Takes a named lock until the transaction ends. Other transactions that lock the same name wait.
  virtual Result<void> lock(std::string_view name) = 0;

  /// Whether copy() is available, which adds many rows at little more than the cost of one.
  virtual bool has_copy() const { return false; }
  /// Adds rows to a table.
  ///
  /// in: columns - "a, b, c"; every row has one value for each
  virtual Result<void> copy(std::string_view /*table*/, std::string_view /*columns*/,
                            std::span<const std::vector<SqlValue>> /*rows*/) {
    return fail(Code::internal, "this database copies nothing");
  }

  /// Notifies a channel's listeners once the transaction is committed. Does nothing if the database has
  /// no listeners.
  virtual Result<void> notify(std::string_view) { return {}; }

  Result<void> run(std::string_view sql, std::initializer_list<SqlValue> values = {},
                   const TakeRow& take = {}) {
    return run(sql, std::span<const SqlValue>(values.begin(), values.size()), take);
  }
};

using Transaction = std::function<Result<void>(SqlSession& session)>;

/// Who waits for a transaction, which decides how long it may take.
enum class Patience {
  request,     ///< a client's request: kRequestPatience for the whole transaction
  background,  ///< a background thread: kBackgroundPatience per statement
  migration,   ///< a schema migration at start: kMigrationPatience per statement
};
inline constexpr std::chrono::milliseconds kRequestPatience{500};
inline constexpr std::chrono::milliseconds kBackgroundPatience{5000};
inline constexpr std::chrono::minutes kMigrationPatience{30};

/// How long a caller waits: by its kind, and at most until `end`.
struct Wait {
  Wait(Patience kind = Patience::background, TimePoint until = TimePoint::max())
      : patience(kind), end(until) {}

  Patience patience;
  TimePoint end;
};

/// A database. Safe from any thread.
class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  /// Runs `work` in a transaction, which is committed if it succeeds and rolled back if not. May run `work` a
  /// second time if the connection broke before the commit.
  virtual Result<void> write(const Transaction& work, Wait wait = {}) = 0;
  virtual Result<void> read(const Transaction& work, Wait wait = {}) = 0;
  virtual Result<void> check() = 0;
  /// An SQL expression for the database's own clock, in milliseconds since 1970.
  virtual std::string_view milliseconds_now() const = 0;
  /// in:  channel - as in SqlSession::notify(): lower-case letters and underscores
  /// out: nullptr if only one process writes
  virtual std::unique_ptr<Listener> listen(std::string_view, std::function<void()>) { return nullptr; }

  /// What is wrong with the database, as far as is known; empty if nothing is. Never waits.
  virtual std::string trouble() const { return {}; }
  /// From now on background work has the time limit of a request, because the process is about to end.
  virtual void hurry() {}
};

}  // namespace metafuse::service
