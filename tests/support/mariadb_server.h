#pragma once

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace metafuse::test {

/// A real MariaDB server in a folder of its own, reached through a Unix socket in it.
class MariadbServer {
 public:
  /// Starts a server; if MariaDB is not installed, prints so and returns nullptr.
  static std::unique_ptr<MariadbServer> start() {
    const std::string install = find_program("mariadb-install-db");
    const std::string server = find_program("mariadbd", {"/usr/sbin"});
    if (install.empty() || server.empty()) {
      std::cout << "SKIPPED: install the Debian package mariadb-server\n";
      return nullptr;
    }
    auto started = std::unique_ptr<MariadbServer>(new MariadbServer);
    started->make(install, server);
    return started;
  }

  std::string socket() const { return folder_.path("server.socket"); }

  /// Runs statements as the administrator.
  void run(const std::string& sql) {
    ChildProcess client({find_program("mariadb"), "-u", "root", "-S", socket(), "-e", sql},
                        folder_.path("client.log"));
    if (client.wait() != 0) throw std::runtime_error("MariaDB refuses: " + sql);
  }

 private:
  MariadbServer() : folder_(TemporaryFolder::in_memory()) {}

  void make(const std::string& install, const std::string& server) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    const std::string data = "--datadir=" + folder_.path("data");
    const std::string user = ::geteuid() == 0 ? "root" : "";
    std::vector<std::string> command = {install, "--no-defaults", data,
                                        "--auth-root-authentication-method=normal", "--skip-test-db"};
    if (!user.empty()) command.push_back("--user=" + user);
    ChildProcess made(command, folder_.path("install.log"));
    if (made.wait() != 0) throw std::runtime_error("mariadb-install-db failed");
    command = {server,
               "--no-defaults",
               data,
               "--socket=" + socket(),
               "--skip-networking",
               "--innodb-flush-method=fsync",
               "--innodb-buffer-pool-size=8M",
               "--pid-file=" + folder_.path("server.pid")};
    if (!user.empty()) command.push_back("--user=" + user);
    process_ = std::make_unique<ChildProcess>(command, folder_.path("server.log"));
    for (int i = 0; i < 600; ++i) {
      ChildProcess ready({find_program("mariadb"), "-u", "root", "-S", socket(), "-e", "SELECT 1"},
                         folder_.path("ready.log"));
      if (ready.wait() == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw std::runtime_error("MariaDB does not start");
  }

  TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace metafuse::test
