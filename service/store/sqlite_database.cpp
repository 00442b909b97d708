#include "core/sqlite_database.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/keyed_hash.h"
#include "service/store/sql_database.h"
#include "service/store/tables.h"

namespace metafuse::service {
namespace {

constexpr int kBusyMs = 2000;
/// "mfus", the application id in the header of every store's file.
constexpr std::int64_t kApplicationId = 0x6d667573;

SqlCell sqlite_cell(const SqliteRow& row, int column) {
  switch (row.kind(column)) {
    case SqliteRow::Kind::integer:
      return row.integer(column);
    case SqliteRow::Kind::real:
      return row.number(column);
    case SqliteRow::Kind::null:
      return std::int64_t{0};
    default:
      return std::string(row.text(column));
  }
}

/// One connection with its prepared statements. Callers must hold `mutex`.
class Connection final : public SqlSession {
 public:
  Result<void> open(const std::string& path, bool is_writer) {
    TRY(auto opened, SqliteDatabase::open(path, {.mode = SqliteMode::read_write,
                                                 .busy_ms = kBusyMs,
                                                 .otherwise = Code::internal,
                                                 .checkpoints_on_close = is_writer}));
    database_ = std::move(opened);
    return execute(
        is_writer ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864; "
                    "PRAGMA wal_autocheckpoint=1000; PRAGMA cell_size_check=ON"
                  : "PRAGMA query_only=ON; PRAGMA wal_autocheckpoint=0");
  }

  Result<void> execute(const char* sql) { return database_.run(sql); }

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override {
    TRY(SqliteStatement * statement, prepare(sql));
    for (std::size_t i = 0; i < values.size(); ++i)
      std::visit([&](const auto& value) { statement->bind_at(static_cast<int>(i) + 1, value); }, values[i]);
    std::vector<SqlCell> cells;
    return statement->for_each_row([&](const SqliteRow& row) -> Result<void> {
      if (!take) return {};
      cells.resize(static_cast<std::size_t>(row.columns()));
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = sqlite_cell(row, static_cast<int>(i));
      return take(cells);
    });
  }

  // Nothing to do: a writing transaction holds the only writing connection from its start.
  Result<void> lock(std::string_view) override { return {}; }

  std::timed_mutex mutex;

 private:
  Result<SqliteStatement*> prepare(std::string_view sql) {
    const std::string text(sql);
    if (const auto at = statements_.find(text); at != statements_.end()) return &at->second;
    TRY(auto prepared, database_.prepare(text, true));
    return &statements_.emplace(text, std::move(prepared)).first->second;
  }

  SqliteDatabase database_;
  TextMap<SqliteStatement> statements_;
};

class SqliteStore final : public SqlDatabase {
 public:
  explicit SqliteStore(StoreMode mode) : is_serving_(mode == StoreMode::serve) {}

  Result<void> open(const std::string& path) {
    path_ = path;
    if (is_serving_) {
      TRY(lock_, FileLock::take(path + ".lock",
                                "another server uses this store; stop it, or share a PostgreSQL store"));
      // Created here so that only its owner can read it; SQLite gives its other files the same mode.
      const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (made < 0) return fail(Code::no_input, path + ": " + std::strerror(errno));
      ::close(made);
      TRY_VOID(writer_.open(path, true));
      TRY_VOID(quick_check(writer_));
      TRY_VOID(claim());
    } else if (::access(path.c_str(), R_OK) != 0) {
      return fail(Code::no_input, path + ": " + std::strerror(errno) + "; name the store of a server");
    }
    TRY_VOID(reader_.open(path, false));
    return background_reader_.open(path, false);
  }

  Result<void> write(const Transaction& work, Wait wait) override {
    if (!is_serving_) return fail(Code::internal, path_ + ": the store was opened to read");
    return transact(writer_, "BEGIN IMMEDIATE", work, wait.end);
  }
  /// Background work has its own connection, so that no request waits for it.
  Result<void> read(const Transaction& work, Wait wait) override {
    return transact(wait.patience == Patience::request ? reader_ : background_reader_, "BEGIN", work,
                    wait.end);
  }
  std::string_view milliseconds_now() const override {
    return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)";
  }

  Result<void> check() override {
    const std::lock_guard guard(reader_.mutex);
    return quick_check(reader_);
  }

 private:
  static Result<void> transact(Connection& connection, const char* begin, const Transaction& work,
                               TimePoint end) {
    std::unique_lock guard(connection.mutex, std::defer_lock);
    if (end == TimePoint::max())
      guard.lock();
    else if (!guard.try_lock_until(end))
      return fail(Code::try_again, "the store is busy");
    TRY_VOID(connection.execute(begin));
    // also if `work` throws
    struct Rollback {
      Connection* connection;
      ~Rollback() {
        if (connection != nullptr) static_cast<void>(connection->execute("ROLLBACK"));
      }
    } rollback{&connection};
    TRY_VOID(work(connection));
    TRY_VOID(connection.execute("COMMIT"));
    rollback.connection = nullptr;
    return {};
  }

  /// Marks an empty database as ours.
  ///
  /// errors: bad_data for a database of another program
  Result<void> claim() {
    TRY(const auto application, first_row<std::int64_t>(writer_, "PRAGMA application_id"));
    if (application == kApplicationId) return {};
    TRY(const auto tables, first_row<std::int64_t>(writer_, "SELECT count(*) FROM sqlite_master"));
    if (application != 0 || tables != 0)
      return fail(Code::bad_data, path_ + ": a database of another program; name a file that does not exist");
    return writer_.run("PRAGMA application_id = " + std::to_string(kApplicationId));
  }

  Result<void> quick_check(Connection& connection) {
    TRY(const auto answer, first_row<std::string>(connection, "PRAGMA quick_check(1)"));
    if (answer == "ok") return {};
    return fail(Code::bad_data, path_ + ": damaged: " + answer + "; restore it from a backup");
  }

  bool is_serving_;
  std::string path_;
  FileLock lock_;
  Connection writer_;
  Connection reader_;
  Connection background_reader_;
};

}  // namespace

Result<std::unique_ptr<SqlDatabase>> open_sqlite(const std::string& path, StoreMode mode) {
  auto database = std::make_unique<SqliteStore>(mode);
  TRY_VOID(database->open(path));
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace metafuse::service
