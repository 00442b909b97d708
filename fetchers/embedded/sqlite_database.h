#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace metafuse::fetchers {

/// One prepared statement of a SqliteDatabase, which must outlive it.
class SqliteStatement {
 public:
  void bind(int position, std::string_view text);
  void bind(int position, std::int64_t number);
  /// Binds a named parameter (":query") where the statement has it.
  void bind_named(const char* name, std::string_view text);
  void bind_named(const char* name, std::int64_t number);
  bool has_parameter(const char* name) const;

  /// true: a row is there. errors: try_again when the deadline interrupted it, the disk is full or the
  /// database is busy; else bad_data
  Result<bool> step();
  void reset();

  int columns() const;
  std::string_view column_name(int column) const;
  std::string_view text(int column) const;
  double number(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection to one SQLite file, for one thread at a time.
class SqliteDatabase {
 public:
  /// errors: no_input when there is no such file
  static Result<SqliteDatabase> open_read_only(const std::string& path);
  static Result<SqliteDatabase> create(const std::string& path);

  Result<void> run(const char* sql);
  Result<SqliteStatement> prepare(std::string_view sql);

  /// Interrupts statements once the deadline passed; nullptr takes it away. The deadline must stay alive.
  void set_deadline(const Deadline* deadline);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::string path_;
};

}  // namespace metafuse::fetchers
