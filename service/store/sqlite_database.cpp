#include "service/store/sqlite_database.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "core/file_lock.h"

namespace metafuse::service {
namespace {

constexpr int kBusyMs = 2000;
/// "mfus", in the header of every store's file.
constexpr std::int64_t kApplicationId = 0x6d667573;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPointer = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Error sqlite_error(const std::string& path, sqlite3* database, int status) {
  const std::string text = path + ": " + sqlite3_errmsg(database);
  switch (status & 0xFF) {
    case SQLITE_FULL:
      return fail(Code::try_again, text + "; make room on the disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
    case SQLITE_IOERR:
      return fail(Code::try_again, text);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return fail(Code::no_input, text + "; check the folder and its permissions");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail(Code::bad_data, text + "; restore it from a backup");
    default:
      return fail(Code::internal, text);
  }
}

int bind(sqlite3_stmt* statement, int position, const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, position, *integer);
  if (const auto* number = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, position, *number);
  const auto text = std::get<std::string_view>(value);
  // Bound text outlives the step; an empty view may have no address, which would bind NULL.
  return sqlite3_bind_text64(statement, position, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

SqlCell sqlite_cell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::int64_t{0};
    default: {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
  }
}

/// One connection with its prepared statements; guarded by `mutex`.
class Connection final : public SqlSession {
 public:
  Result<void> open(const std::string& path, bool is_writer) {
    path_ = path;
    sqlite3* database = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    const int status = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
    database_.reset(database);
    if (status != SQLITE_OK) return sqlite_error(path, database, status);
    sqlite3_busy_timeout(database, kBusyMs);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    if (is_writer)
      return execute(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864; "
          "PRAGMA wal_autocheckpoint=1000; PRAGMA cell_size_check=ON");
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return execute("PRAGMA query_only=ON; PRAGMA wal_autocheckpoint=0");
  }

  Result<void> execute(const char* sql) {
    const int status = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
    if (status == SQLITE_OK) return {};
    return sqlite_error(path_, database_.get(), status);
  }

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override {
    auto statement = prepare(sql);
    if (statement.has_error()) return statement.error();
    const struct Reset {
      sqlite3_stmt* statement;
      ~Reset() {
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
      }
    } reset{*statement};
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const int status = bind(*statement, static_cast<int>(i) + 1, values[i]); status != SQLITE_OK)
        return sqlite_error(path_, database_.get(), status);
    return step(*statement, take);
  }

  // Transactions that write hold the only writing connection from their start.
  Result<void> lock(std::string_view) override { return {}; }

  std::mutex mutex;

 private:
  Result<sqlite3_stmt*> prepare(std::string_view sql) {
    const std::string text(sql);
    if (const auto at = statements_.find(text); at != statements_.end()) return at->second.get();
    sqlite3_stmt* prepared = nullptr;
    const int status = sqlite3_prepare_v3(database_.get(), text.c_str(), static_cast<int>(text.size()) + 1,
                                          SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    if (status != SQLITE_OK) return sqlite_error(path_, database_.get(), status);
    statements_.emplace(text, StatementPointer(prepared));
    return prepared;
  }

  Result<void> step(sqlite3_stmt* statement, const TakeRow& take) {
    std::vector<SqlCell> row(static_cast<std::size_t>(sqlite3_column_count(statement)));
    for (;;) {
      const int status = sqlite3_step(statement);
      if (status == SQLITE_DONE) return {};
      if (status != SQLITE_ROW) return sqlite_error(path_, database_.get(), status);
      if (!take) continue;
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = sqlite_cell(statement, static_cast<int>(i));
      if (auto taken = take(row); taken.has_error()) return taken;
    }
  }

  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::unordered_map<std::string, StatementPointer> statements_;
};

class SqliteDatabase final : public SqlDatabase {
 public:
  explicit SqliteDatabase(StoreMode mode) : is_serving_(mode == StoreMode::serve) {}

  Result<void> open(const std::string& path) {
    path_ = path;
    if (is_serving_) {
      auto locked = FileLock::take(path + ".lock",
                                   "another server uses this store; stop it, or share a PostgreSQL store");
      if (locked.has_error()) return locked.error();
      lock_ = std::move(*locked);
      // Made here so that only its owner can read it; SQLite gives its other files the same mode.
      const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (made < 0) return fail(Code::no_input, path + ": " + std::strerror(errno));
      ::close(made);
      if (auto opened = writer_.open(path, true); opened.has_error()) return opened;
      if (auto checked = quick_check(writer_); checked.has_error()) return checked;
      if (auto ours = claim(); ours.has_error()) return ours;
    } else if (::access(path.c_str(), R_OK) != 0) {
      return fail(Code::no_input, path + ": " + std::strerror(errno) + "; name the store of a server");
    }
    return reader_.open(path, false);
  }

  Result<void> write(const Transaction& work, Patience) override {
    if (!is_serving_) return fail(Code::internal, path_ + ": the store was opened to read");
    return transact(writer_, "BEGIN IMMEDIATE", work);
  }
  Result<void> read(const Transaction& work, Patience) override { return transact(reader_, "BEGIN", work); }
  Result<void> check() override {
    const std::lock_guard guard(reader_.mutex);
    return quick_check(reader_);
  }

 private:
  static Result<void> transact(Connection& connection, const char* begin, const Transaction& work) {
    const std::lock_guard guard(connection.mutex);
    if (auto begun = connection.execute(begin); begun.has_error()) return begun;
    Result<void> done = work(connection);
    if (done.has_value()) done = connection.execute("COMMIT");
    if (done.has_error()) static_cast<void>(connection.execute("ROLLBACK"));
    return done;
  }

  /// Marks an empty database as ours. errors: bad_data for one that something else made
  Result<void> claim() {
    std::int64_t application = 0;
    std::int64_t tables = 0;
    auto read = writer_.run("PRAGMA application_id", {}, [&](SqlRow row) -> Result<void> {
      application = integer_of(row[0]);
      return {};
    });
    if (read.has_error() || application == kApplicationId) return read;
    read = writer_.run("SELECT count(*) FROM sqlite_master", {}, [&](SqlRow row) -> Result<void> {
      tables = integer_of(row[0]);
      return {};
    });
    if (read.has_error()) return read;
    if (application != 0 || tables != 0)
      return fail(Code::bad_data, path_ + ": a database of another program; name a file that does not exist");
    return writer_.run("PRAGMA application_id = " + std::to_string(kApplicationId));
  }

  Result<void> quick_check(Connection& connection) {
    std::string answer;
    auto run = connection.run("PRAGMA quick_check(1)", {}, [&](SqlRow row) -> Result<void> {
      answer = text_of(row[0]);
      return {};
    });
    if (run.has_error()) return run;
    if (answer == "ok") return {};
    return fail(Code::bad_data, path_ + ": damaged: " + answer + "; restore it from a backup");
  }

  bool is_serving_;
  std::string path_;
  FileLock lock_;
  Connection writer_;
  Connection reader_;
};

}  // namespace

Result<std::unique_ptr<SqlDatabase>> open_sqlite(const std::string& path, StoreMode mode) {
  auto database = std::make_unique<SqliteDatabase>(mode);
  if (auto opened = database->open(path); opened.has_error()) return opened.error();
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace metafuse::service
