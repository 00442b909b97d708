#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <pwd.h>

#include "tests/support/command.h"
#include "tests/support/running_program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// A real PostgreSQL server in a folder of its own, reached through a Unix socket in it.
class PostgresServer {
 public:
  /// Starts a server; if PostgreSQL is not installed, skips the test and returns nullptr.
  static std::unique_ptr<PostgresServer> start() {
    std::vector<std::string> folders;
    for (int version = 18; version > 10; --version)
      folders.push_back("/usr/lib/postgresql/" + std::to_string(version) + "/bin");
    const std::string initdb = find_program("initdb", folders);
    const std::string postgres = find_program("postgres", folders);
    const bool has_account = ::geteuid() != 0 || ::getpwnam("postgres") != nullptr;
    if (initdb.empty() || postgres.empty() || !has_account) {
      skip("install the Debian package postgresql (scripts/test --full)");
      return nullptr;
    }
    auto server = std::unique_ptr<PostgresServer>(new PostgresServer);
    server->make(initdb, postgres);
    return server;
  }

  /// The URL of a new, empty database.
  std::string new_database() {
    const std::string name = "test" + std::to_string(++databases_);
    const std::string sql = "CREATE DATABASE " + name;
    const auto made = run_sql(sql);
    if (made.status != 0) throw std::runtime_error("no new database: " + made.err);
    return "postgresql:///" + name + "?host=" + folder_.path() + "&user=tester";
  }

  /// The path of its Unix socket.
  std::string socket() const { return folder_.path(".s.PGSQL.5432"); }

  void stop() { process_->end(SIGINT); }
  void restart() { run(); }

 private:
  PostgresServer() = default;

  void make(const std::string& initdb, const std::string& postgres) {
    postgres_ = postgres;
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    const std::string data = folder_.path("data");
    const auto made = run_command(as_user(
        "postgres", {initdb, "-D", data, "-U", "tester", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"}));
    if (made.status != 0) throw std::runtime_error("initdb failed: " + made.err);
    run();
  }

  CommandResult run_sql(const std::string& sql) const {
    return run_command(
        {find_program("psql"), "-q", "-h", folder_.path(), "-U", "tester", "-d", "postgres", "-c", sql});
  }

  void run() {
    process_ = std::make_unique<RunningProgram>(
        std::vector<std::string>{postgres_, "-D", folder_.path("data"), "-k", folder_.path(), "-c",
                                 "listen_addresses=", "-c", "fsync=off"},
        folder_.path("server.log"), "postgres");
    for (int i = 0; i < 600; ++i) {
      if (run_sql("SELECT 1").status == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw std::runtime_error("PostgreSQL does not start");
  }

  TemporaryFolder folder_;
  std::string postgres_;
  std::unique_ptr<RunningProgram> process_;
  int databases_ = 0;
};

}  // namespace metafuse::test
