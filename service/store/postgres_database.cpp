#include "service/store/postgres_database.h"

#include <charconv>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <pqxx/pqxx>

namespace metafuse::service {
namespace {

constexpr std::size_t kConnections = 4;
constexpr const char* kSettings =
    "SET statement_timeout = '10s'; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = "
    "'30s'; "
    "SET client_min_messages = 'warning'";

// Types of result columns, from PostgreSQL's catalogue (pg_type.dat).
constexpr pqxx::oid kInt8 = 20;
constexpr pqxx::oid kInt2 = 21;
constexpr pqxx::oid kInt4 = 23;
constexpr pqxx::oid kFloat4 = 700;
constexpr pqxx::oid kFloat8 = 701;
constexpr pqxx::oid kNumeric = 1700;

std::string first_line(std::string text) {
  return text.substr(0, text.find('\n'));
}

std::string value_text(const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, *number).ptr;
    return std::string(buffer, end);
  }
  return std::string(std::get<std::string_view>(value));
}

template <class Number>
SqlCell number_cell(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

SqlCell cell(const pqxx::field& field) {
  const std::string_view text(field.c_str(), field.size());
  switch (field.type()) {
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

class PostgresSession final : public SqlSession {
 public:
  explicit PostgresSession(const std::string& url) : connection_(url) {
    pqxx::nontransaction settings(connection_);
    settings.exec(kSettings);
  }

  using SqlSession::run;
  Result<void> run(std::string_view sql, std::span<const SqlValue> values, const TakeRow& take) override {
    const std::string name = prepared(std::string(sql));
    std::vector<std::string> texts;
    for (const SqlValue& value : values) texts.push_back(value_text(value));
    const pqxx::result rows = work_->exec_prepared(name, pqxx::prepare::make_dynamic_params(texts));
    if (!take) return {};
    std::vector<SqlCell> cells(rows.columns());
    for (const auto& row : rows) {
      for (pqxx::row::size_type i = 0; i < row.size(); ++i) cells[i] = cell(row[i]);
      if (auto taken = take(cells); taken.has_error()) return taken;
    }
    return {};
  }

  Result<void> lock(std::string_view name) override {
    return run("SELECT pg_advisory_xact_lock(hashtext('metafuse'), hashtext($1))", {name});
  }

  /// Throws pqxx's exceptions; `is_committing` tells what a broken connection means.
  Result<void> transact(const Transaction& work, bool& is_committing) {
    pqxx::work transaction(connection_);
    work_ = &transaction;
    Result<void> done = work(*this);
    work_ = nullptr;
    if (done.has_error()) return done;
    is_committing = true;
    transaction.commit();
    return done;
  }

 private:
  std::string prepared(const std::string& sql) {
    const auto [at, is_new] = names_.try_emplace(sql, "s" + std::to_string(names_.size()));
    if (is_new) connection_.prepare(at->second, sql);
    return at->second;
  }

  pqxx::connection connection_;
  pqxx::work* work_ = nullptr;
  std::map<std::string, std::string> names_;
};

class PostgresDatabase final : public SqlDatabase {
 public:
  explicit PostgresDatabase(const std::string& url) : url_(url) {}

  Result<void> write(const Transaction& work) override { return transact(work); }
  Result<void> read(const Transaction& work) override { return transact(work); }
  Result<void> check() override {
    return transact([](SqlSession& session) { return session.run("SELECT 1"); });
  }

 private:
  /// A second try is for a connection that broke while it lay in the pool.
  Result<void> transact(const Transaction& work) {
    for (bool is_second = false;; is_second = true) {
      bool is_committing = false;
      auto session = borrow();
      try {
        if (session == nullptr) session = std::make_unique<PostgresSession>(url_);
        Result<void> done = session->transact(work, is_committing);
        give_back(std::move(session));
        return done;
      } catch (const pqxx::broken_connection& error) {
        give_back(nullptr);
        forget_connections();
        if (is_second || is_committing)
          return fail(Code::unavailable, "PostgreSQL does not answer: " + first_line(error.what()));
      } catch (const pqxx::in_doubt_error& error) {
        give_back(nullptr);
        return fail(Code::unavailable, "PostgreSQL broke off at a commit: " + first_line(error.what()));
      } catch (const pqxx::sql_error& error) {
        give_back(nullptr);
        return fail(Code::try_again, "PostgreSQL: " + first_line(error.what()));
      } catch (const std::exception& error) {
        give_back(nullptr);
        return fail(Code::internal, "PostgreSQL: " + first_line(error.what()));
      }
    }
  }

  /// A free connection, or nullptr where one may be made; waits while all are in use.
  std::unique_ptr<PostgresSession> borrow() {
    std::unique_lock lock(mutex_);
    is_free_.wait(lock, [&] { return in_use_ < kConnections; });
    ++in_use_;
    if (free_.empty()) return nullptr;
    auto session = std::move(free_.back());
    free_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<PostgresSession> session) {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (session != nullptr) free_.push_back(std::move(session));
    is_free_.notify_one();
  }

  void forget_connections() {
    const std::lock_guard lock(mutex_);
    free_.clear();
  }

  std::string url_;
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<PostgresSession>> free_;
  std::size_t in_use_ = 0;
};

/// The URL with a limit on the time to connect, unless it has one.
std::string with_timeout(const std::string& url) {
  if (url.find("connect_timeout=") != std::string::npos) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "connect_timeout=3";
}

}  // namespace

Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url) {
  auto database = std::make_unique<PostgresDatabase>(with_timeout(url));
  if (auto checked = database->check(); checked.has_error()) return checked.error();
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace metafuse::service
