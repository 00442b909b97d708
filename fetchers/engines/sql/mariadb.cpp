// MariaDB and MySQL through MariaDB's client library: a prepared statement with bound values in a read-only
// session. The library blocks, so an engine of this type is searched on a thread of its own, within the
// library's time limits.

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <mysql.h>

#include "core/idle_pool.h"
#include "fetchers/engines/sql/database.h"

namespace metafuse::fetchers {
namespace {

constexpr unsigned long kMaxValueBytes = 64 * 1024;  ///< per column; results show less

struct CloseMaria {
  void operator()(MYSQL* connection) const { mysql_close(connection); }
};
using MariaConnection = std::unique_ptr<MYSQL, CloseMaria>;
struct CloseStatement {
  void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
};
using MariaStatement = std::unique_ptr<MYSQL_STMT, CloseStatement>;

// A selection of MariaDB's error numbers (errmsg.h and mysqld_error.h).
constexpr unsigned kFirstClientError = 2000;
constexpr unsigned kLastClientError = 2999;
constexpr unsigned kServerGone = 2006;
constexpr unsigned kServerLost = 2013;
constexpr unsigned kStatementTimeout = 1969;       // MariaDB
constexpr unsigned kStatementTimeoutMysql = 3024;  // MySQL
constexpr unsigned kInterrupted = 1317;
constexpr unsigned kAccessDenied = 1045;
constexpr unsigned kTooManyConnections = 1040;

Error maria_error(unsigned number, std::string_view text) {
  const std::string said = fmt::format("MariaDB: {} ({})", text, number);
  if (number == kStatementTimeout || number == kStatementTimeoutMysql || number == kInterrupted)
    return fail(Code::try_again, said);
  const bool is_absent = (number >= kFirstClientError && number <= kLastClientError) ||
                         number == kAccessDenied || number == kTooManyConnections;
  return fail(is_absent ? Code::unavailable : Code::bad_config, said);
}

Error late_maria() {
  return fail(Code::try_again, "MariaDB did not answer in time");
}

unsigned whole_seconds(Duration time) {
  return static_cast<unsigned>(std::max<long>(1, std::chrono::ceil<std::chrono::seconds>(time).count()));
}

Error maria_failure(MYSQL* connection) {
  return maria_error(mysql_errno(connection), mysql_error(connection));
}
Error maria_failure(MYSQL_STMT* statement) {
  return maria_error(mysql_stmt_errno(statement), mysql_stmt_error(statement));
}

/// A statement that ends while its rows are read leaves its error in the statement or in the connection, or
/// nowhere if the server stopped it because of its time limit.
Error ended_early(MYSQL* connection, MYSQL_STMT* statement) {
  if (mysql_stmt_errno(statement) != 0) return maria_failure(statement);
  if (mysql_errno(connection) != 0) return maria_failure(connection);
  return maria_error(kInterrupted, "the statement was ended before all rows had arrived");
}

/// Values bound to the marks of a statement. Must exist until the statement has run.
struct BoundArguments {
  std::vector<SqlArgument> values;
  std::vector<MYSQL_BIND> binds;
  std::vector<unsigned long> lengths;

  explicit BoundArguments(std::vector<SqlArgument> given) : values(std::move(given)) {
    binds.resize(values.size());
    lengths.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      MYSQL_BIND& bind = binds[i];
      std::memset(&bind, 0, sizeof bind);
      if (auto* number = std::get_if<std::int64_t>(&values[i])) {
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = number;
        continue;
      }
      auto& text = std::get<std::string>(values[i]);
      lengths[i] = text.size();
      bind.buffer_type = MYSQL_TYPE_STRING;
      bind.buffer = text.data();
      bind.buffer_length = text.size();
      bind.length = &lengths[i];
    }
  }
};

/// Receives the columns of each row as texts.
struct BoundColumns {
  std::vector<std::string> names;
  std::vector<std::vector<char>> buffers;
  std::vector<unsigned long> lengths;
  std::vector<my_bool> nulls;
  std::vector<MYSQL_BIND> binds;

  explicit BoundColumns(MYSQL_RES* description) {
    const unsigned count = mysql_num_fields(description);
    lengths.resize(count);
    nulls.resize(count);
    binds.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      names.emplace_back(mysql_fetch_field_direct(description, i)->name);
      buffers.emplace_back(kMaxValueBytes);
      MYSQL_BIND& bind = binds[i];
      std::memset(&bind, 0, sizeof bind);
      bind.buffer_type = MYSQL_TYPE_STRING;
      bind.buffer = buffers[i].data();
      bind.buffer_length = kMaxValueBytes;
      bind.length = &lengths[i];
      bind.is_null = &nulls[i];
    }
  }

  void add_row(HitRows& rows) const {
    std::vector<std::string_view> columns(names.begin(), names.end());
    std::vector<std::string_view> values;
    for (std::size_t i = 0; i < names.size(); ++i)
      values.push_back(nulls[i] != 0
                           ? std::string_view()
                           : std::string_view(buffers[i].data(), std::min(lengths[i], kMaxValueBytes)));
    rows.add(columns, values);
  }
};

class Mariadb final : public Database {
 public:
  Mariadb(const DatabaseAccess& access, Duration timeout) : Database(access, timeout) {
    static const int started = mysql_library_init(0, nullptr, nullptr);
    static_cast<void>(started);
  }

  Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) override {
    TRY(const auto statement, with_marks(access_.statement, SqlStatementText::Marks::question));
    if (deadline.has_passed()) return late_maria();  // it waited too long for a thread
    if (MariaConnection idle = idle_.take()) {
      auto list = ask(std::move(idle), statement, window, deadline);
      if (list || list.error().code != Code::unavailable || deadline.has_passed()) return list;
    }
    TRY(auto connection, open(deadline));
    return ask(std::move(connection), statement, window, deadline);
  }

 private:
  /// The library's time limits are whole seconds, and those of reading and writing stay with the connection,
  /// which later searches use. A server that does not answer at all is waited for no longer than the search.
  Result<MariaConnection> open(const Deadline& deadline) const {
    MariaConnection connection(mysql_init(nullptr));
    if (!connection) return fail(Code::try_again, "MariaDB: out of memory");
    const unsigned seconds = whole_seconds(timeout_);
    const unsigned to_connect = whole_seconds(std::min(timeout_, deadline.left()));
    mysql_options(connection.get(), MYSQL_OPT_CONNECT_TIMEOUT, &to_connect);
    for (const mysql_option option : {MYSQL_OPT_READ_TIMEOUT, MYSQL_OPT_WRITE_TIMEOUT})
      mysql_options(connection.get(), option, &seconds);
    mysql_options(connection.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const unsigned no_local_files = 0;
    mysql_options(connection.get(), MYSQL_OPT_LOCAL_INFILE, &no_local_files);
    const bool is_socket = access_.host.starts_with('/');
    if (mysql_real_connect(connection.get(), is_socket ? nullptr : access_.host.c_str(),
                           access_.username.c_str(), access_.password.c_str(), access_.database.c_str(),
                           static_cast<unsigned>(access_.port), is_socket ? access_.host.c_str() : nullptr,
                           0) == nullptr)
      return maria_failure(connection.get());
    if (deadline.has_passed()) return late_maria();
    TRY_VOID(set_up(connection.get()));
    return connection;
  }

  /// MariaDB limits a statement's time in seconds, MySQL in milliseconds.
  Result<void> set_up(MYSQL* connection) const {
    if (mysql_query(connection, "SET SESSION TRANSACTION READ ONLY") != 0) return maria_failure(connection);
    const double seconds = std::chrono::duration<double>(timeout_).count();
    const std::string of_mariadb = fmt::format("SET SESSION max_statement_time = {:.3f}", seconds);
    const std::string of_mysql = fmt::format("SET SESSION max_execution_time = {:.0f}", seconds * 1000);
    if (mysql_query(connection, of_mariadb.c_str()) != 0 && mysql_query(connection, of_mysql.c_str()) != 0)
      return maria_failure(connection);
    return {};
  }

  /// The connection is another search's from the moment it is given back: the statement is closed before.
  Result<RankedList> ask(MariaConnection connection, const SqlStatementText& text, const SqlWindow& window,
                         const Deadline& deadline) {
    auto list = list_by(connection.get(), text, window, deadline);
    if (list) idle_.give_back(std::move(connection));
    return list;
  }

  Result<RankedList> list_by(MYSQL* connection, const SqlStatementText& text, const SqlWindow& window,
                             const Deadline& deadline) const {
    if (deadline.has_passed()) return late_maria();
    const MariaStatement statement(mysql_stmt_init(connection));
    if (!statement) return fail(Code::try_again, "MariaDB: out of memory");
    if (mysql_stmt_prepare(statement.get(), text.text.c_str(), text.text.size()) != 0)
      return maria_failure(statement.get());
    if (deadline.has_passed()) return late_maria();
    BoundArguments arguments(text.arguments(window));
    if (mysql_stmt_param_count(statement.get()) != arguments.values.size())
      return fail(
          Code::bad_config,
          "MariaDB: the number of placeholders differs from the named values; check quotes and comments, "
          "and write values as :query");
    if (mysql_stmt_bind_param(statement.get(), arguments.binds.data()) ||
        mysql_stmt_execute(statement.get()) != 0)
      return maria_failure(statement.get());
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> description(
        mysql_stmt_result_metadata(statement.get()), &mysql_free_result);
    if (!description) return fail(Code::bad_config, "MariaDB: the statement returns no rows; use a SELECT");
    BoundColumns columns(description.get());
    if (mysql_stmt_bind_result(statement.get(), columns.binds.data())) return maria_failure(statement.get());
    HitRows rows(access_.url_format, window.depth, text.has("offset") ? 0 : window.offset);
    int status = 0;
    while (!rows.is_full() && (status = mysql_stmt_fetch(statement.get())) != MYSQL_NO_DATA) {
      if (status != 0 && status != MYSQL_DATA_TRUNCATED) return ended_early(connection, statement.get());
      columns.add_row(rows);
    }
    mysql_stmt_free_result(statement.get());
    return rows.take();
  }

  IdlePool<MariaConnection> idle_{kMostIdleConnections};
};

}  // namespace

std::unique_ptr<Database> make_mariadb(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Mariadb>(access, timeout);
}

}  // namespace metafuse::fetchers
