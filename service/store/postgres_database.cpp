#include "service/store/postgres_database.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include "core/deadline.h"
#include "service/base/name_lookup.h"

// libpq is used without blocking: every statement is sent, and its answer is waited for with poll() until a
// deadline of ours. A connection that missed its deadline is thrown away, since its answer may still come.

namespace metafuse::service {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kConnections = 4;
constexpr milliseconds kConnectPatience{2000};  ///< of background work
constexpr milliseconds kRest{1000};
constexpr int kTimeoutsBeforeRest = 3;  ///< in a row: one alone may be a slow statement
constexpr std::string_view kSettings =
    "SET statement_timeout = '10s'; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = "
    "'30s'; "
    "SET client_min_messages = 'warning'";

/// libpq's parameters that the URL may override. The kernel ends a connection whose peer is gone.
constexpr std::pair<const char*, const char*> kParameters[] = {
    {"keepalives", "1"},         {"keepalives_idle", "10"},    {"keepalives_interval", "3"},
    {"keepalives_count", "3"},   {"tcp_user_timeout", "5000"}, {"application_name", "metafuse"},
    {"client_encoding", "UTF8"},
};

// Types of result columns, from PostgreSQL's catalogue (pg_type.dat).
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kFloat4 = 700;
constexpr Oid kFloat8 = 701;
constexpr Oid kNumeric = 1700;

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ClearAnswer {
  void operator()(PGresult* answer) const { PQclear(answer); }
};
using Answer = std::unique_ptr<PGresult, ClearAnswer>;

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string value_text(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::string(std::get<std::string_view>(value));
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

/// Until when to wait: for the whole transaction, or for each statement anew.
class Waiting {
 public:
  Waiting(const Wait& wait, const std::atomic<bool>& is_hurrying)
      : patience_(wait.patience),
        is_hurrying_(is_hurrying),
        end_(std::min<TimePoint>(now() + kRequestPatience, wait.end)) {}

  static TimePoint now() { return SteadyClock().now(); }
  TimePoint request_end() const { return end_; }
  bool is_migration() const { return patience_ == Patience::migration; }
  bool is_short() const { return patience_ == Patience::request || is_hurrying_; }
  /// When a statement that begins now must have ended.
  TimePoint statement_end() const {
    if (is_short()) return end_;
    return is_migration() ? now() + kMigrationPatience : now() + kBackgroundPatience;
  }
  TimePoint connect_end() const { return is_short() ? end_ : now() + kConnectPatience; }

  /// Waits until a socket is ready.
  /// out:    whether it is before the time is over
  bool wait(int socket, short events, TimePoint end) const {
    constexpr milliseconds kLook{50};  // how soon a process that ends is noticed
    while (true) {
      const TimePoint moment = now();
      if (is_hurrying_ && patience_ != Patience::request) end = std::min(end, moment + kRequestPatience);
      if (moment >= end) return false;
      const auto left = std::chrono::ceil<milliseconds>(std::min<Duration>(end - moment, kLook));
      pollfd ready{socket, events, 0};
      if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) return true;
    }
  }

 private:
  Patience patience_;
  const std::atomic<bool>& is_hurrying_;
  TimePoint end_;
};

/// What became of a statement or connection, for the pool: keep it, or throw it away and perhaps try again.
enum class Health { sound, broken, late };

/// One connection; used by one thread at a time.
class PostgresSession final : public SqlSession {
 public:
  /// in: parameters - libpq's, hosts resolved
  Result<void> open(const std::vector<std::pair<std::string, std::string>>& parameters,
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

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override {
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

  Result<void> lock(std::string_view name) override {
    return run("SELECT pg_advisory_xact_lock(hashtext('metafuse'), hashtext($1))", {name});
  }

  /// in: is_committing - set when a failure leaves open whether the work was done
  Result<void> transact(const Transaction& work, const Waiting& waiting, bool& is_committing) {
    waiting_ = &waiting;
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

  Error has_no_address() {
    health_ = Health::late;
    return fail(Code::unavailable, "PostgreSQL's host has no address, or none in time");
  }
  bool is_open() const { return is_open_; }
  Health health() const { return health_; }

 private:
  Result<void> command(std::string_view sql) {
    if (PQsendQuery(connection_.get(), std::string(sql).c_str()) == 0) return broken();
    TRY_VOID(answer());
    return {};
  }

  Result<std::string> prepared(const std::string& sql) {
    if (const auto at = names_.find(sql); at != names_.end()) return at->second;
    std::string name = fmt::format("s{}", names_.size());
    if (PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr) == 0) return broken();
    TRY_VOID(answer());
    return names_.emplace(sql, std::move(name)).first->second;
  }

  /// The last answer to what was sent; the first error among several.
  Result<Answer> answer() {
    const TimePoint end = waiting_->statement_end();
    PGconn* connection = connection_.get();
    for (int left = PQflush(connection); left != 0; left = PQflush(connection)) {
      if (left < 0) return broken();
      if (!waiting_->wait(PQsocket(connection), POLLOUT | POLLIN, end)) return late();
      if (PQconsumeInput(connection) == 0) return broken();
    }
    Answer last;
    while (true) {
      while (PQisBusy(connection) != 0) {
        if (!waiting_->wait(PQsocket(connection), POLLIN, end)) return late();
        if (PQconsumeInput(connection) == 0) return broken();
      }
      Answer next(PQgetResult(connection));
      if (next == nullptr) break;
      const ExecStatusType status = PQresultStatus(next.get());
      const bool is_good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
      if (last == nullptr || PQresultStatus(last.get()) != PGRES_FATAL_ERROR) last = std::move(next);
      if (!is_good && PQstatus(connection) == CONNECTION_BAD) return broken();
    }
    if (last == nullptr) return broken();
    if (PQresultStatus(last.get()) != PGRES_FATAL_ERROR) return last;
    const char* state = PQresultErrorField(last.get(), PG_DIAG_SQLSTATE);
    const std::string text = first_line(PQresultErrorMessage(last.get()));
    // class 57P: the server is going down or not yet up
    if (state != nullptr && std::string_view(state).starts_with("57P")) return broken();
    return fail(Code::try_again, "PostgreSQL: " + text);
  }

  Error broken() {
    health_ = Health::broken;
    return fail(Code::unavailable,
                "PostgreSQL does not answer: " +
                    first_line(connection_ == nullptr ? "no memory" : PQerrorMessage(connection_.get())));
  }
  Error late() {
    health_ = Health::late;
    return fail(Code::unavailable, "PostgreSQL does not answer in time");
  }

  std::unique_ptr<PGconn, FinishConnection> connection_;
  const Waiting* waiting_ = nullptr;
  Health health_ = Health::sound;
  bool is_open_ = false;
  std::map<std::string, std::string> names_;
};

/// One host of the URL, by name and port as they stand there.
struct PostgresHost {
  std::string host;
  std::string port;
  std::unique_ptr<NameLookup> lookup;  ///< nullptr for a folder with a socket
};

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.emplace_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return out;
}

class PostgresDatabase final : public SqlDatabase {
 public:
  Result<void> read_url(const std::string& url) {
    char* problem = nullptr;
    PQconninfoOption* options = PQconninfoParse(url.c_str(), &problem);
    if (options == nullptr) {
      PQfreemem(problem);  // repeats the URL, password and all
      return fail(Code::bad_config,
                  "the store's URL is none of PostgreSQL's; write postgresql://USER@HOST/NAME");
    }
    for (const auto& [name, value] : kParameters) parameters_.emplace_back(name, value);
    std::map<std::string, std::string> given;
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option)
      if (option->val != nullptr) given[option->keyword] = option->val;
    PQconninfoFree(options);
    if (given.contains("host") && !given.contains("hostaddr")) {
      const auto ports = split_at_commas(given["port"]);
      for (const std::string& host : split_at_commas(given["host"])) {
        const std::size_t i = hosts_.size();
        PostgresHost& out = hosts_.emplace_back();
        out.host = host;
        out.port = ports[i < ports.size() ? i : 0];
        if (!host.empty() && host[0] != '/' && host[0] != '@')
          out.lookup = std::make_unique<NameLookup>(host);
      }
      given.erase("host");
      given.erase("port");
    }
    for (auto& parameter : given) parameters_.push_back(std::move(parameter));
    return {};
  }

  Result<void> write(const Transaction& work, Wait wait) override { return transact(work, wait); }
  Result<void> read(const Transaction& work, Wait wait) override { return transact(work, wait); }
  std::string_view seconds_now() const override {
    return "CAST(extract(epoch FROM clock_timestamp()) AS bigint)";
  }

  Result<void> check() override {
    return transact([](SqlSession& session) { return session.run("SELECT 1"); }, Patience::background);
  }
  std::string trouble() const override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }
  void hurry() override { is_hurrying_ = true; }

 private:
  /// A second try is for a connection that broke while it lay in the pool.
  Result<void> transact(const Transaction& work, const Wait& wait) {
    if (Waiting::now() >= wait.end)
      return fail(Code::try_again, "no time was left for PostgreSQL");  // which is not its fault
    const Waiting waiting(wait, is_hurrying_);
    for (bool is_second = false;; is_second = true) {
      TRY(auto session, borrow(waiting));
      const bool is_new = session == nullptr;
      bool is_committing = false;
      Result<void> done;
      if (is_new) {
        session = std::make_unique<PostgresSession>();
        done = open(*session, waiting);
      }
      try {
        if (done) done = session->transact(work, waiting, is_committing);
      } catch (...) {
        give_back(nullptr);
        throw;
      }
      const bool is_open = session->is_open();
      const Health health = is_open ? session->health() : std::max(session->health(), Health::broken);
      if (health == Health::sound) {
        give_back(std::move(session));
        return done;
      }
      give_back(nullptr);
      forget_connections();
      if (health == Health::broken && !is_new && !is_second && !is_committing) continue;
      note_failure(health, is_new, done.error().text);
      if (is_committing)
        return fail(Code::unavailable, done.error().text + " (at a commit: the change may be there)");
      return done;
    }
  }

  Result<void> open(PostgresSession& session, const Waiting& waiting) {
    auto parameters = parameters_;
    std::string hosts;
    std::string addresses;
    std::string ports;
    const auto add = [&](const PostgresHost& host, const std::string& address) {
      const char* comma = hosts.empty() ? "" : ",";
      hosts += comma + host.host;
      addresses += comma + address;
      ports += comma + host.port;
    };
    for (const PostgresHost& host : hosts_) {
      if (host.lookup == nullptr) {
        add(host, "");
        continue;
      }
      for (const std::string& address : host.lookup->addresses(waiting.connect_end() - Waiting::now()))
        add(host, address);
    }
    if (!hosts_.empty()) {
      if (hosts.empty()) return session.has_no_address();
      parameters.emplace_back("host", hosts);
      if (addresses.find_first_not_of(',') != std::string::npos)
        parameters.emplace_back("hostaddr", addresses);
      if (ports.find_first_not_of(',') != std::string::npos) parameters.emplace_back("port", ports);
    }
    return session.open(parameters, waiting);
  }

  /// A free connection, or nullptr where one may be made; waits while all are in use.
  Result<std::unique_ptr<PostgresSession>> borrow(const Waiting& waiting) {
    std::unique_lock lock(mutex_);
    if (resting_until_ && Waiting::now() < *resting_until_)
      return fail(Code::unavailable, "PostgreSQL did not answer and is left alone for a second");
    if (!is_free_.wait_until(lock, waiting.statement_end(), [&] { return in_use_ < kConnections; }))
      return fail(Code::try_again, "all connections to PostgreSQL are busy");
    ++in_use_;
    if (free_.empty()) return std::unique_ptr<PostgresSession>();
    auto session = std::move(free_.back());
    free_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<PostgresSession> session) {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (session != nullptr) {
      free_.push_back(std::move(session));
      trouble_.clear();
      resting_until_.reset();
      timeouts_ = 0;
    }
    is_free_.notify_one();
  }

  void forget_connections() {
    const std::lock_guard lock(mutex_);
    free_.clear();
  }

  void note_failure(Health health, bool is_new, const std::string& text) {
    const std::lock_guard lock(mutex_);
    trouble_ = text;
    // a connection that is refused at once costs nobody anything
    if (health == Health::late && (is_new || ++timeouts_ >= kTimeoutsBeforeRest))
      resting_until_ = Waiting::now() + kRest;
  }

  std::vector<std::pair<std::string, std::string>> parameters_;
  std::vector<PostgresHost> hosts_;
  std::atomic<bool> is_hurrying_{false};
  mutable std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<PostgresSession>> free_;
  std::size_t in_use_ = 0;
  int timeouts_ = 0;
  std::string trouble_;
  std::optional<TimePoint> resting_until_;
};

}  // namespace

Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url) {
  auto database = std::make_unique<PostgresDatabase>();
  TRY_VOID(database->read_url(url));
  TRY_VOID(database->check());
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace metafuse::service
