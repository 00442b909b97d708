// Any database that has an ODBC driver, by unixODBC: a prepared statement with bound values on a
// connection that asks its driver to read only. Drivers block, so an engine of this type is asked on a
// thread of its own.

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <sql.h>
#include <sqlext.h>

#include "core/utf8.h"
#include "fetchers/databases/database.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxColumnBytes = 64 * 1024;

/// A handle of unixODBC's and its end.
template <SQLSMALLINT kKind>
class OdbcHandle {
 public:
  explicit OdbcHandle(SQLHANDLE parent) { SQLAllocHandle(kKind, parent, &handle_); }
  OdbcHandle(const OdbcHandle&) = delete;
  OdbcHandle& operator=(const OdbcHandle&) = delete;
  ~OdbcHandle() {
    if (handle_ == SQL_NULL_HANDLE) return;
    if constexpr (kKind == SQL_HANDLE_DBC) SQLDisconnect(handle_);
    SQLFreeHandle(kKind, handle_);
  }
  SQLHANDLE get() const { return handle_; }

 private:
  SQLHANDLE handle_ = SQL_NULL_HANDLE;
};
using OdbcEnvironment = OdbcHandle<SQL_HANDLE_ENV>;
using OdbcConnection = OdbcHandle<SQL_HANDLE_DBC>;
using OdbcStatement = OdbcHandle<SQL_HANDLE_STMT>;

SQLCHAR* characters(const std::string& text) {
  return reinterpret_cast<SQLCHAR*>(const_cast<char*>(text.c_str()));
}

/// A number that an attribute takes in a pointer's place, as ODBC wants it.
SQLPOINTER number_as_pointer(std::uintptr_t number) {
  return reinterpret_cast<SQLPOINTER>(number);  // NOLINT(performance-no-int-to-ptr)
}

/// source: ODBC's SQLSTATEs: class 08 connections, HYT time-outs, 42 statements, 22 values, IM drivers
Error odbc_error(SQLSMALLINT kind, SQLHANDLE handle) {
  std::array<SQLCHAR, 6> state{};
  std::array<SQLCHAR, 512> text{};
  SQLINTEGER number = 0;
  SQLSMALLINT length = 0;
  SQLGetDiagRec(kind, handle, 1, state.data(), &number, text.data(), static_cast<SQLSMALLINT>(text.size()),
                &length);
  const std::string_view name = reinterpret_cast<const char*>(state.data());
  const std::string said =
      fmt::format("ODBC: {} ({})", to_valid_utf8(reinterpret_cast<const char*>(text.data())), name);
  if (name.starts_with("HYT")) return fail(Code::try_again, said);
  if (name.starts_with("22")) return fail(Code::bad_data, said);
  if (name.starts_with("08") || name.starts_with("28")) return fail(Code::unavailable, said);
  return fail(Code::bad_config, said);
}

bool is_good(SQLRETURN status) {
  return status == SQL_SUCCESS || status == SQL_SUCCESS_WITH_INFO;
}

/// A column of the row as text; what is beyond the limit is left.
Result<std::string> column_text(SQLHANDLE statement, SQLUSMALLINT column) {
  std::string out;
  std::array<char, 4096> piece{};
  while (out.size() < kMaxColumnBytes) {
    SQLLEN length = 0;
    const SQLRETURN status =
        SQLGetData(statement, column, SQL_C_CHAR, piece.data(), static_cast<SQLLEN>(piece.size()), &length);
    if (status == SQL_NO_DATA) break;
    if (!is_good(status)) return odbc_error(SQL_HANDLE_STMT, statement);
    if (length == SQL_NULL_DATA) break;
    const bool is_last = length != SQL_NO_TOTAL && length < static_cast<SQLLEN>(piece.size());
    out.append(piece.data(), is_last ? static_cast<std::size_t>(length) : piece.size() - 1);
    if (is_last) break;
  }
  return to_valid_utf8(out);
}

class Odbc final : public Database {
 public:
  Odbc(DatabaseAccess access, Duration timeout)
      : access_(std::move(access)), timeout_(timeout), environment_(SQL_NULL_HANDLE) {
    SQLSetEnvAttr(environment_.get(), SQL_ATTR_ODBC_VERSION, number_as_pointer(SQL_OV_ODBC3), 0);
  }

  Result<RankedList> search(const SqlWindow& window, const Deadline&) override {
    TRY(const auto text, with_marks(access_.statement, SqlStatementText::Marks::question));
    const OdbcConnection connection(environment_.get());
    TRY_VOID(open(connection.get()));
    const OdbcStatement statement(connection.get());
    SQLSetStmtAttr(statement.get(), SQL_ATTR_QUERY_TIMEOUT, number_as_pointer(seconds()), 0);
    if (!is_good(SQLPrepare(statement.get(), characters(text.text), SQL_NTS)))
      return odbc_error(SQL_HANDLE_STMT, statement.get());
    auto arguments = text.arguments(window);
    std::vector<SQLLEN> lengths(arguments.size());
    TRY_VOID(bind(statement.get(), arguments, lengths));
    if (!is_good(SQLExecute(statement.get()))) return odbc_error(SQL_HANDLE_STMT, statement.get());
    return read_rows(statement.get(), window, text.has("offset"));
  }

 private:
  std::uintptr_t seconds() const {
    return static_cast<std::uintptr_t>(
        std::max<long>(1, std::chrono::ceil<std::chrono::seconds>(timeout_).count()));
  }

  /// Drivers that cannot read only say so; then the account's rights count.
  Result<void> open(SQLHANDLE connection) const {
    SQLSetConnectAttr(connection, SQL_ATTR_LOGIN_TIMEOUT, number_as_pointer(seconds()), 0);
    SQLSetConnectAttr(connection, SQL_ATTR_ACCESS_MODE, number_as_pointer(SQL_MODE_READ_ONLY), 0);
    const SQLRETURN status = SQLDriverConnect(connection, nullptr, characters(access_.connection), SQL_NTS,
                                              nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT);
    if (!is_good(status)) {
      const Error error = odbc_error(SQL_HANDLE_DBC, connection);
      return fail(error.code == Code::try_again ? error.code : Code::unavailable, error.text);
    }
    // What a statement might change is never committed.
    SQLSetConnectAttr(connection, SQL_ATTR_AUTOCOMMIT, number_as_pointer(SQL_AUTOCOMMIT_OFF), 0);
    return {};
  }

  static Result<void> bind(SQLHANDLE statement, std::vector<SqlArgument>& arguments,
                           std::vector<SQLLEN>& lengths) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto position = static_cast<SQLUSMALLINT>(i + 1);
      SQLRETURN status = SQL_SUCCESS;
      if (auto* number = std::get_if<std::int64_t>(&arguments[i])) {
        status = SQLBindParameter(statement, position, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0,
                                  number, 0, nullptr);
      } else {
        auto& text = std::get<std::string>(arguments[i]);
        lengths[i] = static_cast<SQLLEN>(text.size());
        status = SQLBindParameter(statement, position, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR,
                                  std::max<SQLULEN>(text.size(), 1), 0, text.data(), lengths[i], &lengths[i]);
      }
      if (!is_good(status)) return odbc_error(SQL_HANDLE_STMT, statement);
    }
    return {};
  }

  Result<RankedList> read_rows(SQLHANDLE statement, const SqlWindow& window, bool has_offset) const {
    SQLSMALLINT count = 0;
    SQLNumResultCols(statement, &count);
    if (count <= 0) return fail(Code::bad_config, "ODBC: the statement gives no rows");
    std::vector<std::string> names;
    for (SQLSMALLINT i = 1; i <= count; ++i) {
      std::array<SQLCHAR, 256> name{};
      SQLDescribeCol(statement, static_cast<SQLUSMALLINT>(i), name.data(),
                     static_cast<SQLSMALLINT>(name.size()), nullptr, nullptr, nullptr, nullptr, nullptr);
      names.emplace_back(reinterpret_cast<const char*>(name.data()));
    }
    const std::vector<std::string_view> columns(names.begin(), names.end());
    HitRows rows(access_.url_format, window.depth, has_offset ? 0 : window.offset);
    while (!rows.is_full()) {
      const SQLRETURN status = SQLFetch(statement);
      if (status == SQL_NO_DATA) break;
      if (!is_good(status)) return odbc_error(SQL_HANDLE_STMT, statement);
      std::vector<std::string> texts;
      for (SQLSMALLINT i = 1; i <= count; ++i) {
        TRY(auto text, column_text(statement, static_cast<SQLUSMALLINT>(i)));
        texts.push_back(std::move(text));
      }
      rows.add(columns, std::vector<std::string_view>(texts.begin(), texts.end()));
    }
    return rows.take();
  }

  DatabaseAccess access_;
  Duration timeout_;
  OdbcEnvironment environment_;
};

}  // namespace

std::unique_ptr<Database> make_odbc(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Odbc>(access, timeout);
}

}  // namespace metafuse::fetchers
