#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
};

/// One prepared statement. Its SqliteDatabase must outlive it.
class SqliteStatement {
 public:
  enum class Cell { null, integer, real, text };

  void bind(int position, std::string_view text);
  void bind(int position, std::int64_t number);
  void bind(int position, double number);
  void bind_bytes(int position, std::string_view bytes);
  /// Binds a named parameter (":query") if the statement has it.
  void bind_named(const char* name, std::string_view text);
  void bind_named(const char* name, std::int64_t number);
  bool has_parameter(const char* name) const;

  /// Advances to the next row; false when there are no more.
  /// errors: as SqliteDatabase
  Result<bool> step();
  void reset();

  int columns() const;
  std::string_view column_name(int column) const;
  Cell kind(int column) const;
  std::string_view text(int column) const;
  /// The bytes of a BLOB or of a text.
  std::string_view bytes(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
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
  Result<void> run(const char* sql);
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
