#include "core/sqlite_database.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/digest.h"
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

  Result<void> execute(const char* sql) { return noted(database_.run(sql)); }

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override {
    auto prepared = prepare(sql);
    if (!prepared) return noted(Result<void>(prepared.error()));
    SqliteStatement* const statement = *prepared;
    for (std::size_t i = 0; i < values.size(); ++i)
      std::visit([&](const auto& value) { statement->bind_at(static_cast<int>(i) + 1, value); }, values[i]);
    std::vector<SqlCell> cells;
    bool is_refused = false;  // by who takes the rows, not by the database
    auto done = statement->for_each_row([&](const SqliteRow& row) -> Result<void> {
      if (!take) return {};
      cells.resize(static_cast<std::size_t>(row.columns()));
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = sqlite_cell(row, static_cast<int>(i));
      auto taken = take(cells);
      is_refused = taken.has_error();
      return taken;
    });
    return is_refused ? done : noted(std::move(done));
  }

  /// What the file or the machine made fail since the last call; empty if nothing. A statement that is wrong
  /// says nothing about them.
  std::string take_failure() { return std::exchange(failure_, {}); }

  // Nothing to do: a writing transaction holds the only writing connection from its start.
  Result<void> lock(std::string_view) override { return {}; }

  std::timed_mutex mutex;

 private:
  Result<void> noted(Result<void> done) {
    if (!done && done.error().code != Code::internal) failure_ = done.error().text;
    return done;
  }

  Result<SqliteStatement*> prepare(std::string_view sql) {
    const std::string text(sql);
    if (const auto at = statements_.find(text); at != statements_.end()) return &at->second;
    TRY(auto prepared, database_.prepare(text, true));
    return &statements_.emplace(text, std::move(prepared)).first->second;
  }

  SqliteDatabase database_;
  TextMap<SqliteStatement> statements_;
  std::string failure_;
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
      file_ = identity_of(path);
    } else if (::access(path.c_str(), R_OK) != 0) {
      return fail(Code::no_input, path + ": " + std::strerror(errno) + "; name the store of a server");
    }
    TRY_VOID(reader_.open(path, false));
    return background_reader_.open(path, false);
  }

  Result<void> write(const Transaction& work, Wait wait) override {
    if (!is_serving_) return fail(Code::internal, path_ + ": the store was opened to read");
    TRY_VOID(check_file());
    std::int64_t changes = 0;
    const auto counted = [&](SqlSession& session) -> Result<void> {
      TRY(const auto before, first_row<std::int64_t>(session, kCountChanges));
      TRY_VOID(work(session));
      TRY(changes, first_row<std::int64_t>(session, kCountChanges));
      changes -= before;
      return {};
    };
    return transact(writer_, "BEGIN IMMEDIATE", counted, wait.end, [&](bool is_done) {
      std::string failure = writer_.take_failure();
      // a transaction that changed nothing needs no room on the disk
      if (!failure.empty() || (is_done && changes > 0)) set_trouble(std::move(failure));
    });
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

  std::string trouble() const override {
    const std::lock_guard guard(trouble_mutex_);
    return trouble_;
  }
  void try_again() override {
    if (trouble().empty()) return;
    // SQLite writes no page whose bytes stay the same
    const std::string fresh = random_hex(8);
    const auto change = [&](SqlSession& session) {
      return session.run(
          "INSERT INTO meta (name, value) VALUES ('tried', $1) ON CONFLICT (name) DO UPDATE SET value = "
          "excluded.value",
          {fresh});
    };
    static_cast<void>(write(change, Patience::background));
  }

 private:
  static constexpr const char* kCountChanges = "SELECT total_changes()";
  using OnEnd = std::function<void(bool is_done)>;
  using FileIdentity = std::pair<dev_t, ino_t>;

  void set_trouble(std::string trouble) {
    const std::lock_guard guard(trouble_mutex_);
    trouble_ = std::move(trouble);
  }

  static std::optional<FileIdentity> identity_of(const std::string& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return FileIdentity(found.st_dev, found.st_ino);
  }

  /// What is written into a file that was removed is lost at the end of the process.
  Result<void> check_file() {
    if (identity_of(path_) == file_) return {};
    const std::string trouble = path_ +
                                ": was removed or replaced while this server used it; restart the server, or "
                                "put the file back";
    set_trouble(trouble);
    return fail(Code::unavailable, trouble);
  }

  /// in: on_end - called while the connection is still held
  static Result<void> transact(Connection& connection, const char* begin, const Transaction& work,
                               TimePoint end, const OnEnd& on_end = {}) {
    std::unique_lock guard(connection.mutex, std::defer_lock);
    if (end == TimePoint::max())
      guard.lock();
    else if (!guard.try_lock_until(end))
      return fail(Code::try_again, "the store is busy");
    auto done = transact_alone(connection, begin, work);
    if (on_end) on_end(done.has_value());
    return done;
  }

  static Result<void> transact_alone(Connection& connection, const char* begin, const Transaction& work) {
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
  std::optional<FileIdentity> file_;  ///< of the file that is open
  mutable std::mutex trouble_mutex_;
  std::string trouble_;
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
