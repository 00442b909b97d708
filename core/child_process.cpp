#include "core/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace metafuse {
namespace {

/// Creates a memory file that holds the text, positioned at its beginning; -1 on failure.
int file_of(const std::string& text) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  std::size_t done = 0;
  while (file >= 0 && done < text.size()) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      ::close(file);
      return -1;
    }
    done += static_cast<std::size_t>(count);
  }
  if (file >= 0) ::lseek(file, 0, SEEK_SET);
  return file;
}

/// The settings for posix_spawn: the program's first three descriptors, a process group of its own, and
/// default signal handling.
class SpawnPlan {
 public:
  SpawnPlan(int input, int output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (input >= 0)
      posix_spawn_file_actions_adddup2(&actions, input, 0);
    else
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

ChildProcess::~ChildProcess() {
  if (output_ >= 0) ::close(output_);
  if (id_ <= 0) return;
  ::kill(-id_, SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<void> ChildProcess::start(std::vector<std::string> arguments, const ChildInput& input) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Code::try_again, std::strerror(errno));
  output_ = ends[0];
  const int text = input.text.empty() ? -1 : file_of(input.text);
  if (text < 0 && !input.text.empty()) {
    ::close(ends[1]);
    return fail(Code::try_again, std::strerror(errno));
  }
  const SpawnPlan plan(text, ends[1]);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  std::array<char*, 1> nothing = {nullptr};
  pid_t id = 0;
  const int status = ::posix_spawn(&id, words[0], &plan.actions, &plan.attributes, words.data(),
                                   input.has_our_environment ? environ : nothing.data());
  ::close(ends[1]);
  if (text >= 0) ::close(text);
  if (status != 0) return fail(Code::unavailable, arguments[0] + ": " + std::strerror(status));
  id_ = id;
  return {};
}

Result<std::string> ChildProcess::read(std::size_t max_bytes, const Deadline& deadline) {
  std::string out;
  std::array<char, 16384> buffer{};
  while (out.size() < max_bytes) {
    if (deadline.has_passed()) return fail(Code::try_again, "the program did not end in time");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(std::min<long>(50, static_cast<long>(left)))) <= 0) continue;
    const ssize_t count = ::read(output_, buffer.data(), std::min(buffer.size(), max_bytes - out.size()));
    if (count == 0) return out;
    if (count < 0 && errno != EINTR) return fail(Code::bad_data, std::strerror(errno));
    if (count > 0) out.append(buffer.data(), static_cast<std::size_t>(count));
  }
  out.resize(out.rfind('\n') + 1);
  return out;
}

Result<int> ChildProcess::status(const Deadline& deadline) const {
  constexpr std::chrono::milliseconds kBetweenLooks{1};
  while (!deadline.has_passed()) {
    siginfo_t info{};
    // WNOWAIT keeps the process id reserved: the destructor still kills the group by that id.
    if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
      return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return fail(Code::try_again, "the program did not end in time");
}

}  // namespace metafuse
