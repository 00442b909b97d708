#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/running_program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// A real MariaDB server in a folder of its own, reached through a Unix socket in it.
class MariadbServer {
 public:
  /// Starts a server; if MariaDB is not installed, skips the test and returns nullptr.
  static std::unique_ptr<MariadbServer> start() {
    const std::string install = find_program("mariadb-install-db");
    const std::string server = find_program("mariadbd", {"/usr/sbin"});
    if (install.empty() || server.empty()) {
      skip("install the Debian package mariadb-server (scripts/test --full)");
      return nullptr;
    }
    auto started = std::unique_ptr<MariadbServer>(new MariadbServer);
    started->make(install, server);
    return started;
  }

  std::string socket() const { return folder_.path("server.socket"); }

  /// Runs statements as the administrator.
  void run(const std::string& sql) {
    const auto done = run_as_root(sql);
    if (done.status != 0) throw std::runtime_error("MariaDB refuses: " + sql + ": " + done.err);
  }

 private:
  MariadbServer() : folder_(TemporaryFolder::in_memory()) {}

  CommandResult run_as_root(const std::string& sql) const {
    return run_command({find_program("mariadb"), "-u", "root", "-S", socket(), "-e", sql});
  }

  void make(const std::string& install, const std::string& server) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    const std::string data = "--datadir=" + folder_.path("data");
    const std::string user = ::geteuid() == 0 ? "root" : "";
    std::vector<std::string> command = {install, "--no-defaults", data,
                                        "--auth-root-authentication-method=normal", "--skip-test-db"};
    if (!user.empty()) command.push_back("--user=" + user);
    const auto made = run_command(command);
    if (made.status != 0) throw std::runtime_error("mariadb-install-db failed: " + made.err);
    command = {server,
               "--no-defaults",
               data,
               "--socket=" + socket(),
               "--skip-networking",
               "--innodb-flush-method=fsync",
               "--innodb-buffer-pool-size=8M",
               "--pid-file=" + folder_.path("server.pid")};
    if (!user.empty()) command.push_back("--user=" + user);
    process_ = std::make_unique<RunningProgram>(command, folder_.path("server.log"));
    for (int i = 0; i < 600; ++i) {
      if (run_as_root("SELECT 1").status == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw std::runtime_error("MariaDB does not start");
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunningProgram> process_;
};

}  // namespace metafuse::test
