#include "fetchers/embedded/sqlite_database.h"

#include <filesystem>

#include <sqlite3.h>

#include "core/contract.h"

namespace metafuse::fetchers {
namespace {

constexpr int kInstructionsBetweenChecks = 4000;

Error sqlite_error(sqlite3* database, int status) {
  const std::string text = sqlite3_errmsg(database);
  switch (status & 0xFF) {
    case SQLITE_INTERRUPT:
      return fail(Code::try_again, "the deadline passed");
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(Code::try_again, text);
    case SQLITE_CANTOPEN:
      return fail(Code::no_input, text);
    default:
      return fail(Code::bad_data, text);
  }
}

Result<sqlite3*> open(const std::string& path, int flags) {
  sqlite3* database = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (status == SQLITE_OK) return database;
  const Error error = fail(Code::no_input, path + ": " + sqlite3_errmsg(database));
  sqlite3_close(database);
  return error;
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::bind(int position, std::string_view text) {
  // An empty view may have no address, which SQLite would take for NULL.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  const int status =
      sqlite3_bind_text(statement_.get(), position, bytes, static_cast<int>(text.size()), SQLITE_TRANSIENT);
  require(status == SQLITE_OK || status == SQLITE_TOOBIG, "a parameter that the statement has");
}

void SqliteStatement::bind(int position, std::int64_t number) {
  require(sqlite3_bind_int64(statement_.get(), position, number) == SQLITE_OK,
          "a parameter that the statement has");
}

bool SqliteStatement::has_parameter(const char* name) const {
  return sqlite3_bind_parameter_index(statement_.get(), name) != 0;
}

void SqliteStatement::bind_named(const char* name, std::string_view text) {
  if (const int position = sqlite3_bind_parameter_index(statement_.get(), name)) bind(position, text);
}

void SqliteStatement::bind_named(const char* name, std::int64_t number) {
  if (const int position = sqlite3_bind_parameter_index(statement_.get(), name)) bind(position, number);
}

Result<bool> SqliteStatement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(statement_.get()), status);
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int SqliteStatement::columns() const {
  return sqlite3_column_count(statement_.get());
}

std::string_view SqliteStatement::column_name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

std::string_view SqliteStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

double SqliteStatement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

void SqliteDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<SqliteDatabase> SqliteDatabase::open_read_only(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return fail(Code::no_input, path + ": no such database");
  TRY(auto opened, open(path, SQLITE_OPEN_READONLY));
  SqliteDatabase database;
  database.database_.reset(opened);
  database.path_ = path;
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

Result<SqliteDatabase> SqliteDatabase::create(const std::string& path) {
  TRY(auto opened, open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  SqliteDatabase database;
  database.database_.reset(opened);
  database.path_ = path;
  return database;
}

Result<void> SqliteDatabase::run(const char* sql) {
  const int status = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (status == SQLITE_OK) return {};
  return sqlite_error(database_.get(), status);
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view sql) {
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  const int status =
      sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &prepared, &rest);
  if (status != SQLITE_OK) return sqlite_error(database_.get(), status);
  SqliteStatement statement;
  statement.statement_.reset(prepared);
  if (prepared == nullptr) return fail(Code::bad_data, "an empty statement");
  return statement;
}

void SqliteDatabase::set_deadline(const Deadline* deadline) {
  const auto check = [](void* data) { return static_cast<const Deadline*>(data)->has_passed() ? 1 : 0; };
  sqlite3_progress_handler(database_.get(), deadline == nullptr ? 0 : kInstructionsBetweenChecks,
                           deadline == nullptr ? nullptr : +check, const_cast<Deadline*>(deadline));
}

}  // namespace metafuse::fetchers
