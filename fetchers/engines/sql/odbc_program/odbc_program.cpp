// Runs one search in an ODBC database: a prepared statement with bound values, on a connection that asks its
// driver for read-only access. The request is JSON on standard input, written by engines/sql/odbc.cpp:
//   {"connection", "statement", "values": [text or number], "seconds", "rows"}
// The answer is JSON lines: {"columns": [...]}, then an array of texts per row; or {"error", "code"}.

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <sql.h>
#include <sqlext.h>

#include "core/json.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxRequestBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxColumnBytes = 64 * 1024;

/// A unixODBC handle, freed by the destructor.
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

/// A number passed as a pointer, which is how ODBC takes numeric attributes.
SQLPOINTER number_as_pointer(std::uintptr_t number) {
  return reinterpret_cast<SQLPOINTER>(number);  // NOLINT(performance-no-int-to-ptr)
}

/// source: ODBC's SQLSTATEs: class 08 are connection errors, HYT time-outs, 42 statements, 22 values,
///         IM drivers
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

/// A column of the current row as text, cut at the limit.
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

using OdbcArgument = std::variant<std::string, std::int64_t>;

struct OdbcRequest {
  std::string connection, statement;
  std::vector<OdbcArgument> values;
  std::uintptr_t seconds = 1;
  std::int64_t rows = 0;
};

Result<OdbcRequest> read_request() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  TRY(const auto json, parse_json(std::string_view(text).substr(0, kMaxRequestBytes), "request"));
  OdbcRequest out;
  try {
    const JsonObject& object = json.as_object();
    out.connection = std::string(object.at("connection").as_string());
    out.statement = std::string(object.at("statement").as_string());
    for (const Json& value : object.at("values").as_array())
      if (value.is_string())
        out.values.emplace_back(std::string(value.as_string()));
      else
        out.values.emplace_back(value.to_number<std::int64_t>());
    out.seconds = object.at("seconds").to_number<std::uint64_t>();
    out.rows = object.at("rows").to_number<std::int64_t>();
  } catch (const std::exception& error) {
    return fail(Code::internal, error.what());
  }
  return out;
}

void write_line(const Json& line) {
  const std::string text = to_text(line) + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Some drivers cannot open a connection read-only and merely report it; then only the account's permissions
/// protect the data.
Result<void> open_connection(SQLHANDLE connection, const OdbcRequest& request) {
  SQLSetConnectAttr(connection, SQL_ATTR_LOGIN_TIMEOUT, number_as_pointer(request.seconds), 0);
  SQLSetConnectAttr(connection, SQL_ATTR_ACCESS_MODE, number_as_pointer(SQL_MODE_READ_ONLY), 0);
  const SQLRETURN status = SQLDriverConnect(connection, nullptr, characters(request.connection), SQL_NTS,
                                            nullptr, 0, nullptr, SQL_DRIVER_NOPROMPT);
  if (!is_good(status)) {
    const Error error = odbc_error(SQL_HANDLE_DBC, connection);
    return fail(error.code == Code::try_again ? error.code : Code::unavailable, error.text);
  }
  // Changes that a statement makes nevertheless are never committed.
  SQLSetConnectAttr(connection, SQL_ATTR_AUTOCOMMIT, number_as_pointer(SQL_AUTOCOMMIT_OFF), 0);
  return {};
}

Result<void> bind(SQLHANDLE statement, std::vector<OdbcArgument>& arguments, std::vector<SQLLEN>& lengths) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto position = static_cast<SQLUSMALLINT>(i + 1);
    SQLRETURN status = SQL_SUCCESS;
    if (auto* number = std::get_if<std::int64_t>(&arguments[i])) {
      status = SQLBindParameter(statement, position, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, number,
                                0, nullptr);
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

Result<void> write_rows(SQLHANDLE statement, std::int64_t rows) {
  SQLSMALLINT count = 0;
  SQLNumResultCols(statement, &count);
  if (count <= 0) return fail(Code::bad_config, "ODBC: the statement returns no rows; use a SELECT");
  JsonArray names;
  for (SQLSMALLINT i = 1; i <= count; ++i) {
    std::array<SQLCHAR, 256> name{};
    SQLDescribeCol(statement, static_cast<SQLUSMALLINT>(i), name.data(),
                   static_cast<SQLSMALLINT>(name.size()), nullptr, nullptr, nullptr, nullptr, nullptr);
    names.emplace_back(to_valid_utf8(reinterpret_cast<const char*>(name.data())));
  }
  write_line(JsonObject{{"columns", std::move(names)}});
  for (; rows > 0; --rows) {
    const SQLRETURN status = SQLFetch(statement);
    if (status == SQL_NO_DATA) break;
    if (!is_good(status)) return odbc_error(SQL_HANDLE_STMT, statement);
    JsonArray texts;
    for (SQLSMALLINT i = 1; i <= count; ++i) {
      TRY(auto text, column_text(statement, static_cast<SQLUSMALLINT>(i)));
      texts.emplace_back(std::move(text));
    }
    write_line(texts);
  }
  return {};
}

Result<void> search() {
  TRY(auto request, read_request());
  const OdbcEnvironment environment(SQL_NULL_HANDLE);
  SQLSetEnvAttr(environment.get(), SQL_ATTR_ODBC_VERSION, number_as_pointer(SQL_OV_ODBC3), 0);
  const OdbcConnection connection(environment.get());
  TRY_VOID(open_connection(connection.get(), request));
  const OdbcStatement statement(connection.get());
  SQLSetStmtAttr(statement.get(), SQL_ATTR_QUERY_TIMEOUT, number_as_pointer(request.seconds), 0);
  if (!is_good(SQLPrepare(statement.get(), characters(request.statement), SQL_NTS)))
    return odbc_error(SQL_HANDLE_STMT, statement.get());
  std::vector<SQLLEN> lengths(request.values.size());
  TRY_VOID(bind(statement.get(), request.values, lengths));
  if (!is_good(SQLExecute(statement.get()))) return odbc_error(SQL_HANDLE_STMT, statement.get());
  TRY_VOID(write_rows(statement.get(), request.rows));
  // The answer is complete, so the reader need not wait until the driver has disconnected.
  std::fclose(stdout);
  return {};
}

}  // namespace
}  // namespace metafuse::fetchers

int main() {
  const auto done = metafuse::fetchers::search();
  if (!done)
    metafuse::fetchers::write_line(metafuse::JsonObject{{"error", metafuse::to_valid_utf8(done.error().text)},
                                                        {"code", static_cast<int>(done.error().code)}});
  return 0;
}
