#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/store/sql_database.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// A database whose statements can be looked at before they run, and whose writing transactions can be run
/// twice, as after a connection that broke before the commit.
class WatchedDatabase final : public service::SqlDatabase {
 public:
  using OnStatement =
      std::function<void(service::SqlSession&, std::string_view sql, std::span<const service::SqlValue>)>;

  explicit WatchedDatabase(std::unique_ptr<service::SqlDatabase> database) : database_(std::move(database)) {}

  OnStatement on_statement;
  bool writes_twice = false;

  Result<void> write(const service::Transaction& work, service::Wait wait) override {
    const auto watched = [&](service::SqlSession& session) {
      Session watching(session, on_statement);
      return work(watching);
    };
    const auto broken = [&](service::SqlSession& session) -> Result<void> {
      TRY_VOID(watched(session));
      return fail(Code::unavailable, "the connection broke");
    };
    if (writes_twice) static_cast<void>(database_->write(broken, wait));
    return database_->write(watched, wait);
  }
  Result<void> read(const service::Transaction& work, service::Wait wait) override {
    return database_->read(work, wait);
  }
  Result<void> check() override { return database_->check(); }
  std::string_view milliseconds_now() const override { return database_->milliseconds_now(); }

 private:
  class Session final : public service::SqlSession {
   public:
    Session(service::SqlSession& session, const OnStatement& on_statement)
        : session_(session), on_statement_(on_statement) {}

    using service::SqlSession::run;
    Result<void> run(std::string_view sql, std::span<const service::SqlValue> values,
                     const service::TakeRow& take) override {
      if (on_statement_) on_statement_(session_, sql, values);
      return session_.run(sql, values, take);
    }
    Result<void> lock(std::string_view name) override { return session_.lock(name); }
    bool has_copy() const override { return session_.has_copy(); }
    Result<void> copy(std::string_view table, std::string_view columns,
                      std::span<const std::vector<service::SqlValue>> rows) override {
      return session_.copy(table, columns, rows);
    }
    Result<void> notify(std::string_view channel) override { return session_.notify(channel); }

   private:
    service::SqlSession& session_;
    const OnStatement& on_statement_;
  };

  std::unique_ptr<service::SqlDatabase> database_;
};

/// A new store in a SQLite file, with its database.
struct WatchedStore {
  WatchedStore() {
    const std::string path = folder.path("store.db");
    opened_store(path);  // makes the tables
    auto watched = std::make_unique<WatchedDatabase>(
        std::move(service::open_sqlite(path, service::StoreMode::serve).value()));
    database = watched.get();
    store = std::make_unique<service::Store>(std::move(watched), path + ".secret");
  }

  TemporaryFolder folder{TemporaryFolder::in_memory()};
  WatchedDatabase* database = nullptr;
  std::unique_ptr<service::Store> store;
};

}  // namespace metafuse::test
