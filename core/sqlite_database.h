#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/deadline.h"
#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace metafuse {

/// The path and fallback code that errors need. Kept apart from the connection because statements share it
/// and connections may be moved.
struct SqliteSource {
  std::string path;
  Code otherwise;
  std::string_view if_damaged;
};

/// The bytes of a BLOB.
struct SqliteBytes {
  std::string_view bytes;
};

/// The row at which a statement stands. Like the views that it returns, it is valid until the statement
/// moves on.
class SqliteRow {
 public:
  enum class Kind { null, integer, real, text };

  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  int columns() const;
  std::string_view name(int column) const;
  Kind kind(int column) const;
  std::string_view text(int column) const;
  /// The bytes of a BLOB or of a text.
  std::string_view bytes(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// One prepared statement. Its SqliteDatabase must outlive it.
class SqliteStatement {
 public:
  void bind_at(int position, std::string_view text);
  void bind_at(int position, SqliteBytes bytes);
  void bind_at(int position, double number);
  template <std::integral Whole>
  void bind_at(int position, Whole number) {
    bind_whole(position, static_cast<std::int64_t>(number));
  }
  /// Binds all parameters in order.
  template <class... Values>
  void bind(const Values&... values) {
    int position = 0;
    (bind_at(++position, values), ...);
  }
  /// Binds a named parameter (":query"). False if the statement does not have it.
  template <class Value>
  bool bind_named(const char* name, const Value& value) {
    const int position = position_of(name);
    if (position != 0) bind_at(position, value);
    return position != 0;
  }

  /// Advances to the next row; nullopt when there are no more.
  /// errors: as SqliteDatabase
  Result<std::optional<SqliteRow>> next();
  void reset();

  /// Runs the statement with these values and resets it; rows are ignored.
  /// errors: as SqliteDatabase
  template <class... Values>
  Result<void> run(const Values&... values) {
    bind(values...);
    TRY_VOID(next());
    reset();
    return {};
  }

  /// Calls `take` with every row, then resets the statement. `take` returns nothing, or a Result<void> whose
  /// error ends the reading.
  /// errors: as SqliteDatabase; those of `take`
  template <class Take>
  Result<void> for_each_row(const Take& take) {
    const struct Reset {
      SqliteStatement& statement;
      ~Reset() { statement.reset(); }
    } reset{*this};
    while (true) {
      TRY(const auto row, next());
      if (!row) return {};
      if constexpr (std::is_void_v<decltype(take(*row))>)
        take(*row);
      else
        TRY_VOID(take(*row));
    }
  }

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  void bind_whole(int position, std::int64_t number);
  int position_of(const char* name) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::shared_ptr<const SqliteSource> source_;
};

enum class SqliteMode {
  read_only,   ///< a file that somebody else may have made: its schema is not trusted
  read_write,  ///< an existing file, with the same caution
  create,      ///< a file of ours, created if missing
};

struct SqliteOptions {
  SqliteMode mode = SqliteMode::read_only;
  int busy_ms = 0;                   ///< how long a statement waits for another connection's lock
  Code otherwise = Code::bad_data;   ///< the code of errors caused by neither the file nor the machine
  bool checkpoints_on_close = true;  ///< the last connection to close empties the write-ahead log
  std::string_view if_damaged = "restore it from a backup";  ///< what to do then; a literal
};

/// A connection to one SQLite file. Not thread-safe: one thread at a time.
///
/// errors: of every function, as "PATH: what SQLite says; what to do": try_again when the deadline passed,
///         the disk is full or the database is busy; no_input when the file cannot be opened; bad_data when
///         it is damaged; else SqliteOptions::otherwise
class SqliteDatabase {
 public:
  static Result<SqliteDatabase> open(const std::string& path, const SqliteOptions& options);

  /// Runs statements that return nothing.
  Result<void> run(const std::string& sql);
  /// in:     is_kept - the statement will be kept and run often
  Result<SqliteStatement> prepare(std::string_view sql, bool is_kept = false);

  /// Interrupts statements after the deadline; nullptr removes it. The deadline must outlive its use here.
  void set_deadline(const Deadline* deadline);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::shared_ptr<const SqliteSource> source_;
};

}  // namespace metafuse
