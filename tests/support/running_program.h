#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/child_process.h"

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

/// The command, which ends when this process does, in whatever way. If we are root it runs as the user and as
/// the group of that name; an empty user is ourselves.
inline std::vector<std::string> as_user(const std::string& user, std::vector<std::string> command) {
  std::vector<std::string> out = {find_program("setpriv"), "--pdeathsig=TERM"};
  if (!user.empty() && ::geteuid() == 0)
    out.insert(out.end(), {"--reuid=" + user, "--regid=" + user, "--clear-groups"});
  out.emplace_back("--");
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

/// A program that a test starts; the destructor ends it.
class RunningProgram {
 public:
  /// in: user - whom to run as if we are root; empty: ourselves. Output is appended to `log`.
  RunningProgram(std::vector<std::string> command, const std::string& log, const std::string& user = "") {
    std::vector<std::string> line = {"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", log};
    for (std::string& word : as_user(user, std::move(command))) line.push_back(std::move(word));
    if (const auto started = process_.start(std::move(line), {.has_our_environment = true}); !started)
      throw std::runtime_error(started.error().text);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram() { end(SIGTERM); }

  /// Sends the signal and waits.
  ///
  /// out: as of wait()
  int end(int signal) {
    ::kill(id(), signal);
    return wait();
  }
  /// out: its exit status, 128 plus the signal that ended it, or -1 if it does not end within two minutes
  int wait() {
    const Clock& clock = machine_clock();
    const auto status = process_.status(Deadline(clock, std::chrono::minutes(2)));
    return status ? *status : -1;
  }
  pid_t id() const { return process_.id(); }

 private:
  ChildProcess process_;
};

}  // namespace metafuse::test
