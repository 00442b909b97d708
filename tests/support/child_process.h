#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace metafuse::test {

/// The full path of a program in PATH or in one of the folders; empty if there is none.
inline std::string find_program(const std::string& name, const std::vector<std::string>& folders = {}) {
  std::vector<std::string> places = folders;
  std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "/usr/bin:/bin";
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    places.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  for (const std::string& place : places) {
    const std::string full = place + "/" + name;
    if (::access(full.c_str(), X_OK) == 0) return full;
  }
  return {};
}

/// A program that a test starts; the destructor ends it.
class ChildProcess {
 public:
  /// in: user - whom to run as if we are root; empty: ourselves. Output is appended to `log`.
  ChildProcess(const std::vector<std::string>& command, const std::string& log,
               const std::string& user = "") {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const passwd* account = user.empty() || ::geteuid() != 0 ? nullptr : ::getpwnam(user.c_str());
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no new process");
    if (pid_ > 0) return;
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (output >= 0) {
      ::dup2(output, 1);
      ::dup2(output, 2);
    }
    if (account != nullptr &&
        (::setgid(account->pw_gid) != 0 || ::setgroups(0, nullptr) != 0 || ::setuid(account->pw_uid) != 0))
      ::_exit(126);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { end(SIGTERM); }

  /// Sends the signal, waits, and returns the wait status.
  int end(int signal) {
    if (pid_ <= 0) return status_;
    ::kill(pid_, signal);
    return wait();
  }
  int wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return status_;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace metafuse::test
