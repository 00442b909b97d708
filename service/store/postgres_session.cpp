#include "service/store/postgres_session.h"

#include <charconv>

#include <fmt/format.h>
#include <poll.h>

namespace metafuse::service::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectPatience{2000};  ///< for background work
constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 10;
constexpr std::string_view kSettings =
    "SET statement_timeout = '10s'; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = "
    "'30s'; "
    "SET client_min_messages = 'warning'";

// Types of result columns, from PostgreSQL's catalogue (pg_type.dat).
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kFloat4 = 700;
constexpr Oid kFloat8 = 701;
constexpr Oid kNumeric = 1700;

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string value_text(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::string(std::get<std::string_view>(value));
}

/// Appends a row as a line of COPY's text format.
void append_copied(std::string& out, std::span<const SqlValue> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += '\t';
    for (const char c : value_text(row[i])) {
      const char* escaped = c == '\\'   ? "\\\\"
                            : c == '\t' ? "\\t"
                            : c == '\n' ? "\\n"
                            : c == '\r' ? "\\r"
                                        : nullptr;
      if (escaped != nullptr)
        out += escaped;
      else
        out += c;
    }
  }
  out += '\n';
}

template <class Number>
SqlCell number_cell(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

SqlCell postgres_cell(const PGresult* answer, int row, int column) {
  const std::string_view text(PQgetvalue(answer, row, column),
                              static_cast<std::size_t>(PQgetlength(answer, row, column)));
  switch (PQftype(answer, column)) {
    case kInt2:
    case kInt4:
    case kInt8:
      return number_cell<std::int64_t>(text);
    case kFloat4:
    case kFloat8:
    case kNumeric:
      return number_cell<double>(text);
    default:
      return std::string(text);
  }
}

}  // namespace

TimePoint Waiting::statement_end() const {
  if (is_short()) return end_;
  return is_migration() ? now() + kMigrationPatience : now() + kBackgroundPatience;
}

TimePoint Waiting::connect_end() const {
  return is_short() ? end_ : now() + kConnectPatience;
}

bool Waiting::wait(int socket, short events, TimePoint end) const {
  constexpr milliseconds kLook{50};  // how soon the wait notices that the process is ending
  while (true) {
    const TimePoint moment = now();
    if (is_hurrying_ && patience_ != Patience::request) end = std::min(end, moment + kRequestPatience);
    if (moment >= end) return false;
    const auto left = std::chrono::ceil<milliseconds>(std::min<Duration>(end - moment, kLook));
    pollfd ready{socket, events, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

Result<void> PostgresSession::open(const std::vector<std::pair<std::string, std::string>>& parameters,
                                   const Waiting& waiting) {
  waiting_ = &waiting;
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
  const TimePoint end = waiting.connect_end();
  for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
    if (connection_ == nullptr || PQstatus(connection_.get()) == CONNECTION_BAD) return broken();
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!waiting.wait(PQsocket(connection_.get()), events, end)) return late();
    state = PQconnectPoll(connection_.get());
    if (state == PGRES_POLLING_FAILED) return broken();
  }
  PQsetnonblocking(connection_.get(), 1);
  TRY_VOID(command(kSettings));
  is_open_ = true;
  return {};
}

Result<void> PostgresSession::run(std::string_view sql, std::span<const SqlValue> values,
                                  const TakeRow& take) {
  TRY(const std::string name, prepared(std::string(sql)));
  std::vector<std::string> texts;
  for (const SqlValue& value : values) texts.push_back(value_text(value));
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  if (PQsendQueryPrepared(connection_.get(), name.c_str(), static_cast<int>(texts.size()), pointers.data(),
                          nullptr, nullptr, 0) == 0)
    return broken();
  TRY(const Answer answer, this->answer());
  if (!take) return {};
  std::vector<SqlCell> cells(static_cast<std::size_t>(PQnfields(answer.get())));
  for (int row = 0; row < PQntuples(answer.get()); ++row) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      cells[i] = postgres_cell(answer.get(), row, static_cast<int>(i));
    TRY_VOID(take(cells));
  }
  return {};
}

Result<void> PostgresSession::lock(std::string_view name) {
  return run("SELECT pg_advisory_xact_lock(hashtext('metafuse'), hashtext($1))", {name});
}

Result<void> PostgresSession::notify(std::string_view channel) {
  return run("SELECT pg_notify($1, '')", {channel});
}

Result<void> PostgresSession::subscribe(std::string_view channel, const Waiting& waiting) {
  waiting_ = &waiting;
  return command(fmt::format("LISTEN {}", channel));
}

Result<bool> PostgresSession::take_notices() {
  if (PQconsumeInput(connection_.get()) == 0) return broken();
  bool is_told = false;
  while (PGnotify* notice = PQnotifies(connection_.get())) {
    PQfreemem(notice);
    is_told = true;
  }
  return is_told;
}

Result<void> PostgresSession::transact(const Transaction& work, const Waiting& waiting, bool& is_committing) {
  waiting_ = &waiting;
  has_given_way_ = false;
  TRY_VOID(command("BEGIN"));
  if (waiting.is_migration())
    TRY_VOID(command("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0"));
  Result<void> done = work(*this);
  if (done) {
    is_committing = true;
    return command("COMMIT");
  }
  if (health_ == Health::sound) static_cast<void>(command("ROLLBACK"));
  return done;
}

Error PostgresSession::has_no_address() {
  health_ = Health::late;
  return fail(Code::unavailable, "PostgreSQL's host name was not resolved in time, or has no address");
}

Result<void> PostgresSession::command(std::string_view sql) {
  if (PQsendQuery(connection_.get(), std::string(sql).c_str()) == 0) return broken();
  TRY_VOID(answer());
  return {};
}

Result<std::string> PostgresSession::prepared(const std::string& sql) {
  if (const auto at = names_.find(sql); at != names_.end()) return at->second;
  std::string name = fmt::format("s{}", names_.size());
  if (PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr) == 0) return broken();
  TRY_VOID(answer());
  return names_.emplace(sql, std::move(name)).first->second;
}

Result<void> PostgresSession::flush(TimePoint end) {
  PGconn* connection = connection_.get();
  for (int left = PQflush(connection); left != 0; left = PQflush(connection)) {
    if (left < 0) return broken();
    if (!waiting_->wait(PQsocket(connection), POLLOUT | POLLIN, end)) return late();
    if (PQconsumeInput(connection) == 0) return broken();
  }
  return {};
}

Result<Answer> PostgresSession::next_answer(TimePoint end) {
  PGconn* connection = connection_.get();
  while (PQisBusy(connection) != 0) {
    if (!waiting_->wait(PQsocket(connection), POLLIN, end)) return late();
    if (PQconsumeInput(connection) == 0) return broken();
  }
  return Answer(PQgetResult(connection));
}

Result<void> PostgresSession::copy(std::string_view table, std::string_view columns,
                                   std::span<const std::vector<SqlValue>> rows) {
  PGconn* connection = connection_.get();
  const TimePoint end = waiting_->statement_end();
  const std::string sql = fmt::format("COPY {} ({}) FROM STDIN", table, columns);
  if (PQsendQuery(connection, sql.c_str()) == 0) return broken();
  TRY_VOID(flush(end));
  TRY(const Answer begun, next_answer(end));
  if (begun == nullptr || PQresultStatus(begun.get()) != PGRES_COPY_IN) {
    const std::string text = first_line(begun == nullptr ? "" : PQresultErrorMessage(begun.get()));
    static_cast<void>(answer());  // discards what follows the refusal
    return fail(Code::try_again, "PostgreSQL: " + text);
  }
  std::string text;
  for (const auto& row : rows) append_copied(text, row);
  // libpq returns 0 when its buffer is full
  const auto put = [&](auto send) -> Result<void> {
    for (int taken = send(); taken != 1; taken = send()) {
      if (taken < 0) return broken();
      TRY_VOID(flush(end));
    }
    return {};
  };
  for (std::size_t at = 0; at < text.size(); at += kCopiedAtOnce) {
    const std::size_t size = std::min(kCopiedAtOnce, text.size() - at);
    TRY_VOID(put([&] { return PQputCopyData(connection, text.data() + at, static_cast<int>(size)); }));
    TRY_VOID(flush(end));
  }
  TRY_VOID(put([&] { return PQputCopyEnd(connection, nullptr); }));
  TRY_VOID(answer());
  return {};
}

/// The last answer to what was sent, or the first error.
Result<Answer> PostgresSession::answer() {
  const TimePoint end = waiting_->statement_end();
  TRY_VOID(flush(end));
  Answer last;
  while (true) {
    TRY(Answer next, next_answer(end));
    if (next == nullptr) break;
    const ExecStatusType status = PQresultStatus(next.get());
    const bool is_good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (last == nullptr || PQresultStatus(last.get()) != PGRES_FATAL_ERROR) last = std::move(next);
    if (!is_good && PQstatus(connection_.get()) == CONNECTION_BAD) return broken();
  }
  if (last == nullptr) return broken();
  if (PQresultStatus(last.get()) != PGRES_FATAL_ERROR) return last;
  const char* field = PQresultErrorField(last.get(), PG_DIAG_SQLSTATE);
  const std::string_view state(field == nullptr ? "" : field);
  const std::string text = first_line(PQresultErrorMessage(last.get()));
  // class 57P: the server is shutting down or not yet up; 25006: it is a read-only standby now
  if (state.starts_with("57P") || state == "25006") return broken();
  // 40001: it could not be in a row with the others; 40P01: it and another one waited for each other
  has_given_way_ = state == "40001" || state == "40P01";
  // 42P01: there is no such table, now or later
  return fail(state == "42P01" ? Code::internal : Code::try_again, "PostgreSQL: " + text);
}

Error PostgresSession::broken() {
  health_ = Health::broken;
  return fail(Code::unavailable,
              "PostgreSQL does not answer: " +
                  first_line(connection_ == nullptr ? "no memory" : PQerrorMessage(connection_.get())));
}
Error PostgresSession::late() {
  health_ = Health::late;
  return fail(Code::unavailable, "PostgreSQL does not answer in time");
}

}  // namespace metafuse::service::detail
