#include "core/sqlite_database.h"

#include <filesystem>

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/contract.h"

namespace metafuse {
namespace {

constexpr int kInstructionsBetweenChecks = 4000;

Error sqlite_error(const SqliteSource& source, sqlite3* database, int status) {
  const auto because = [&](Code code, const std::string& remedy = {}) {
    return fail(code, fmt::format("{}: {}{}", source.path, sqlite3_errmsg(database), remedy));
  };
  switch (status & 0xFF) {
    case SQLITE_INTERRUPT:
      return fail(Code::try_again, source.path + ": the deadline passed");
    case SQLITE_FULL:
      return because(Code::try_again, "; make room on the disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return because(Code::try_again, "; another program is using it, so try again later");
    case SQLITE_IOERR:
      return because(Code::try_again);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return because(Code::no_input, "; check the folder and its permissions");
    case SQLITE_CORRUPT:
      return because(Code::bad_data, fmt::format("; {}", source.if_damaged));
    case SQLITE_NOTADB:
      return because(Code::bad_data, fmt::format("; name the right file, or {}", source.if_damaged));
    default:
      return because(source.otherwise);
  }
}

int flags_of(SqliteMode mode) {
  const int opened = mode == SqliteMode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  return opened | SQLITE_OPEN_NOMUTEX | (mode == SqliteMode::create ? SQLITE_OPEN_CREATE : 0);
}

void require_bound(int status) {
  require(status == SQLITE_OK || status == SQLITE_TOOBIG, "a parameter that the statement has");
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

// The data pointer of an empty view may be null, which SQLite would store as NULL.
void SqliteStatement::bind_at(int position, std::string_view text) {
  const char* start = text.data() == nullptr ? "" : text.data();
  require_bound(
      sqlite3_bind_text64(statement_.get(), position, start, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void SqliteStatement::bind_at(int position, SqliteBytes bytes) {
  const char* start = bytes.bytes.data() == nullptr ? "" : bytes.bytes.data();
  require_bound(sqlite3_bind_blob64(statement_.get(), position, start, bytes.bytes.size(), SQLITE_TRANSIENT));
}

void SqliteStatement::bind_at(int position, double number) {
  require_bound(sqlite3_bind_double(statement_.get(), position, number));
}

void SqliteStatement::bind_whole(int position, std::int64_t number) {
  require_bound(sqlite3_bind_int64(statement_.get(), position, number));
}

int SqliteStatement::position_of(const char* name) const {
  return sqlite3_bind_parameter_index(statement_.get(), name);
}

Result<std::optional<SqliteRow>> SqliteStatement::next() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return std::optional<SqliteRow>(statement_.get());
  if (status == SQLITE_DONE) return std::optional<SqliteRow>();
  return sqlite_error(*source_, sqlite3_db_handle(statement_.get()), status);
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int SqliteRow::columns() const {
  return sqlite3_column_count(statement_);
}

std::string_view SqliteRow::name(int column) const {
  return sqlite3_column_name(statement_, column);
}

SqliteRow::Kind SqliteRow::kind(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Kind::integer;
    case SQLITE_FLOAT:
      return Kind::real;
    case SQLITE_NULL:
      return Kind::null;
    default:
      return Kind::text;
  }
}

std::string_view SqliteRow::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view SqliteRow::bytes(int column) const {
  const auto* start = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (start == nullptr) return {};
  return {start, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::int64_t SqliteRow::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double SqliteRow::number(int column) const {
  return sqlite3_column_double(statement_, column);
}

void SqliteDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<SqliteDatabase> SqliteDatabase::open(const std::string& path, const SqliteOptions& options) {
  std::error_code ignored;
  if (options.mode == SqliteMode::read_only && !std::filesystem::is_regular_file(path, ignored))
    return fail(Code::no_input, path + ": no such database");
  SqliteDatabase opened;
  opened.source_ =
      std::make_shared<const SqliteSource>(SqliteSource{path, options.otherwise, options.if_damaged});
  sqlite3* database = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &database, flags_of(options.mode), nullptr);
  opened.database_.reset(database);
  if (status != SQLITE_OK) return sqlite_error(*opened.source_, database, status);
  if (options.busy_ms > 0) sqlite3_busy_timeout(database, options.busy_ms);
  if (options.mode != SqliteMode::create) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  }
  if (!options.checkpoints_on_close)
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return opened;
}

Result<void> SqliteDatabase::run(const std::string& sql) {
  const int status = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (status == SQLITE_OK) return {};
  return sqlite_error(*source_, database_.get(), status);
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view sql, bool is_kept) {
  sqlite3_stmt* prepared = nullptr;
  const int status = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        is_kept ? SQLITE_PREPARE_PERSISTENT : 0, &prepared, nullptr);
  if (status != SQLITE_OK) return sqlite_error(*source_, database_.get(), status);
  SqliteStatement statement;
  statement.statement_.reset(prepared);
  statement.source_ = source_;
  if (prepared == nullptr) return fail(source_->otherwise, source_->path + ": an empty statement");
  return statement;
}

void SqliteDatabase::set_deadline(const Deadline* deadline) {
  const auto check = [](void* data) { return static_cast<const Deadline*>(data)->has_passed() ? 1 : 0; };
  sqlite3_progress_handler(database_.get(), deadline == nullptr ? 0 : kInstructionsBetweenChecks,
                           deadline == nullptr ? nullptr : +check, const_cast<Deadline*>(deadline));
}

}  // namespace metafuse
