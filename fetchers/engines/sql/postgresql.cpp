// PostgreSQL through libpq, without blocking: connecting, sending and reading wait in poll() until the
// deadline. A session is read-only and has the server's own time limit. Rows arrive one by one, so that a
// statement without LIMIT needs no more memory than the wanted results.

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include "core/idle_pool.h"
#include "fetchers/engines/sql/database.h"

namespace metafuse::fetchers {
namespace {

struct EndSession {
  void operator()(PGconn* session) const { PQfinish(session); }
};
using Session = std::unique_ptr<PGconn, EndSession>;
struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using SqlResult = std::unique_ptr<PGresult, ClearResult>;

Error late_answer() {
  return fail(Code::try_again, "PostgreSQL did not answer in time");
}

Error no_session(PGconn* session) {
  const std::string_view text = session == nullptr ? "out of memory" : PQerrorMessage(session);
  return fail(Code::unavailable, "PostgreSQL: " + std::string(text.substr(0, text.find('\n'))));
}

/// source: PostgreSQL's error codes (SQLSTATE): 57014 is a cancelled statement, class 42 a statement that
///         is invalid or not permitted, class 22 invalid values, class 25 an attempt to write in a
///         read-only transaction
Error refused_statement(const PGresult* result) {
  const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  const std::string_view text = PQresultErrorMessage(result);
  const std::string said = "PostgreSQL: " + std::string(text.substr(0, text.find('\n')));
  if (state == "57014") return fail(Code::try_again, said);
  if (state.starts_with("42") || state.starts_with("25")) return fail(Code::bad_config, said);
  if (state.starts_with("22")) return fail(Code::bad_data, said);
  return fail(Code::unavailable, said);
}

bool wait_for(PGconn* session, short events, const Deadline& deadline) {
  pollfd ready{PQsocket(session), events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    if (left <= 0) return false;
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<long>(left, 60000)));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

Result<void> flush(PGconn* session, const Deadline& deadline) {
  for (int left = PQflush(session); left != 0; left = PQflush(session)) {
    if (left < 0) return no_session(session);
    if (!wait_for(session, POLLOUT | POLLIN, deadline)) return late_answer();
    if (PQconsumeInput(session) == 0) return no_session(session);
  }
  return {};
}

/// The next result; nullptr when there are no more.
Result<SqlResult> next_result(PGconn* session, const Deadline& deadline) {
  while (PQisBusy(session) != 0) {
    if (!wait_for(session, POLLIN, deadline)) return late_answer();
    if (PQconsumeInput(session) == 0) return no_session(session);
  }
  return SqlResult(PQgetResult(session));
}

std::vector<std::string_view> columns_of(const PGresult* result) {
  std::vector<std::string_view> columns;
  for (int i = 0; i < PQnfields(result); ++i) columns.emplace_back(PQfname(result, i));
  return columns;
}

std::vector<std::string_view> values_of_row(const PGresult* result, int row) {
  std::vector<std::string_view> values;
  for (int i = 0; i < PQnfields(result); ++i)
    values.emplace_back(PQgetvalue(result, row, i), static_cast<std::size_t>(PQgetlength(result, row, i)));
  return values;
}

class Postgresql final : public Database {
 public:
  using Database::Database;

  Result<RankedList> search(const SqlWindow& window, const Deadline& deadline) override {
    TRY(const auto statement, with_marks(access_.statement, SqlStatementText::Marks::numbered));
    // The server may have closed an idle session; if so, try again with a new one.
    if (Session idle = idle_.take()) {
      auto list = ask(std::move(idle), statement, window, deadline);
      if (list || list.error().code != Code::unavailable) return list;
    }
    TRY(auto session, open(deadline));
    return ask(std::move(session), statement, window, deadline);
  }

 private:
  Result<Session> open(const Deadline& deadline) const {
    const std::string port = access_.port > 0 ? std::to_string(access_.port) : "";
    std::vector<std::pair<const char*, const char*>> parameters = {
        {"application_name", "metafuse"}, {"client_encoding", "UTF8"}, {"tcp_user_timeout", "5000"}};
    const auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) parameters.emplace_back(name, value.c_str());
    };
    add("dbname", access_.connection.empty() ? access_.database : access_.connection);
    add("host", access_.host);
    add("port", port);
    add("user", access_.username);
    add("password", access_.password);
    std::vector<const char*> names, values;
    for (const auto& [name, value] : parameters) {
      names.push_back(name);
      values.push_back(value);
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    Session session(PQconnectStartParams(names.data(), values.data(), 1));
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
      if (session == nullptr || PQstatus(session.get()) == CONNECTION_BAD || state == PGRES_POLLING_FAILED)
        return no_session(session.get());
      const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
      if (!wait_for(session.get(), events, deadline)) return late_answer();
      state = PQconnectPoll(session.get());
    }
    PQsetnonblocking(session.get(), 1);
    TRY_VOID(set_up(session.get(), deadline));
    return session;
  }

  Result<void> set_up(PGconn* session, const Deadline& deadline) const {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout_).count();
    const std::string sql = fmt::format(
        "SET default_transaction_read_only = on; SET statement_timeout = {}; SET lock_timeout = {}; "
        "SET client_min_messages = 'error'",
        milliseconds, milliseconds);
    if (PQsendQuery(session, sql.c_str()) == 0) return no_session(session);
    TRY_VOID(flush(session, deadline));
    while (true) {
      TRY(const auto result, next_result(session, deadline));
      if (!result) return {};
      if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) return refused_statement(result.get());
    }
  }

  Result<RankedList> ask(Session session, const SqlStatementText& statement, const SqlWindow& window,
                         const Deadline& deadline) {
    std::vector<std::string> texts;
    for (const SqlArgument& argument : statement.arguments(window)) {
      const auto* text = std::get_if<std::string>(&argument);
      texts.push_back(text != nullptr ? *text : std::to_string(std::get<std::int64_t>(argument)));
      if (texts.back().find('\0') != std::string::npos)
        return fail(Code::bad_data, "the query contains a NUL byte, which PostgreSQL does not accept");
    }
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    PGconn* const wire = session.get();
    if (PQsendQueryParams(wire, statement.text.c_str(), static_cast<int>(texts.size()), nullptr,
                          pointers.data(), nullptr, nullptr, 0) == 0)
      return no_session(wire);
    PQsetSingleRowMode(wire);
    TRY_VOID(flush(wire, deadline));
    HitRows rows(access_.url_format, window.depth, statement.has("offset") ? 0 : window.offset);
    while (!rows.is_full() || statement.has("limit")) {
      TRY(const auto result, next_result(wire, deadline));
      if (!result) {
        idle_.give_back(std::move(session));
        break;
      }
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_FATAL_ERROR) return failed(std::move(session), result.get(), deadline);
      if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK)
        return fail(Code::bad_config, "PostgreSQL: the statement returns no rows; use a SELECT");
      const auto columns = columns_of(result.get());
      for (int row = 0; row < PQntuples(result.get()); ++row)
        rows.add(columns, values_of_row(result.get(), row));
    }
    return rows.take();
  }

  /// After a refused statement the session is still usable, once the rest of the answer has been read.
  Error failed(Session session, const PGresult* result, const Deadline& deadline) {
    Error error = refused_statement(result);
    if (PQstatus(session.get()) == CONNECTION_BAD) return error;
    while (true) {
      const auto rest = next_result(session.get(), deadline);
      if (!rest) return error;
      if (!*rest) break;
    }
    idle_.give_back(std::move(session));
    return error;
  }

  IdlePool<Session> idle_{kMostIdleConnections};
};

}  // namespace

std::unique_ptr<Database> make_postgresql(const DatabaseAccess& access, Duration timeout) {
  return std::make_unique<Postgresql>(access, timeout);
}

}  // namespace metafuse::fetchers
