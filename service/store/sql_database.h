#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse::service {

/// During its lifetime it calls back, from a thread of its own, whenever somebody has changed what it
/// listens for.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Whether changes are reported at this moment. While they are not, the owner must look for them.
  virtual bool is_listening() const = 0;
};

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
  /// second time if the connection broke before the commit, or if this and another transaction excluded each
  /// other and the database chose to roll this one back.
  virtual Result<void> write(const Transaction& work, Wait wait = {}) = 0;
  virtual Result<void> read(const Transaction& work, Wait wait = {}) = 0;
  /// As write() and read(); they return what `work` returned, which is a Result of a value.
  template <class Work>
  auto write_value(const Work& work, Wait wait = {}) {
    return value_of(&SqlDatabase::write, work, wait);
  }
  template <class Work>
  auto read_value(const Work& work, Wait wait = {}) {
    return value_of(&SqlDatabase::read, work, wait);
  }
  virtual Result<void> check() = 0;
  /// An SQL expression for the database's own clock, in milliseconds since 1970.
  virtual std::string_view milliseconds_now() const = 0;
  /// in:  channel - as in SqlSession::notify(): lower-case letters and underscores
  /// out: nullptr if only one process writes
  virtual std::unique_ptr<Listener> listen(std::string_view, std::function<void()>) { return nullptr; }

  /// What is wrong with the database, as far as is known; empty if nothing is. Never waits.
  virtual std::string trouble() const { return {}; }
  /// If changes failed, tries one, so that trouble() ends with its cause even if nothing else is written.
  virtual void try_again() {}
  /// From now on background work has the time limit of a request, because the process is about to end.
  virtual void hurry() {}

 private:
  template <class Work>
  std::invoke_result_t<const Work&, SqlSession&> value_of(
      Result<void> (SqlDatabase::*transact)(const Transaction&, Wait), const Work& work, Wait wait) {
    std::invoke_result_t<const Work&, SqlSession&> out = fail(Code::internal, "no transaction was run");
    const auto keep = [&](SqlSession& session) -> Result<void> {
      out = work(session);
      return out ? Result<void>() : Result<void>(out.error());
    };
    TRY_VOID((this->*transact)(keep, wait));
    return out;
  }
};

/// How a store is opened.
enum class StoreMode {
  serve,  ///< reads and writes
  read,   ///< changes nothing; works beside a server that writes
};

/// Opens an SQLite file in WAL mode: one connection writes and checkpoints, another only reads. In mode
/// `serve` the file is created if it does not exist (readable by its owner only), checked, and locked against
/// a second server (FILE.lock). A single writing connection is necessary because two that write or checkpoint
/// at once can damage a WAL in SQLite 3.40.
///
/// errors: those of open_store
Result<std::unique_ptr<SqlDatabase>> open_sqlite(const std::string& path, StoreMode mode);

/// Opens a PostgreSQL database with a pool of connections, which are re-established when they break. Every
/// wait has a time limit on our side, whatever the server and the network do: a name that is not resolved, a
/// connection that is accepted but never answered, a pulled cable. After such a failure the server is left
/// alone for a second, during which every call fails at once.
///
/// in:     url - "postgresql://USER@HOST:PORT/NAME" with libpq's parameters
/// errors: unavailable: no server answers, or it refuses the connection; bad_config: not a URL that
///         libpq understands
Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url);

}  // namespace metafuse::service
