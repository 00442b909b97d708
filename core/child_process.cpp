#include "core/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/// A filter that refuses to make sockets, also by io_uring and by another architecture's numbers.
std::array<sock_filter, 8> socket_filter() {
#if defined(__x86_64__)
  constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this architecture's AUDIT_ARCH"
#endif
  constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EACCES;
  constexpr std::uint32_t kOtherNumbers = 0x40000000;  // x32
  return {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 4),
           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
           BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 2, 0),
           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1), BPF_STMT(BPF_RET | BPF_K, kRefused),
           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
}

bool set_limit(int what, rlim_t value) {
  const rlimit limit{value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(what), &limit) == 0;
}

/// In the child, between fork and exec, where only calls to the kernel are safe.
bool accept_limits(const ChildLimits& limits, const sock_fprog& filter) {
  return set_limit(RLIMIT_AS, limits.memory_bytes) && set_limit(RLIMIT_CPU, limits.cpu_seconds) &&
         set_limit(RLIMIT_FSIZE, 0) && set_limit(RLIMIT_CORE, 0) &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// What a child needs before it becomes the program.
struct LimitedStart {
  char* const* arguments;
  char* const* environment;
  int input, output;
  ChildLimits limits;
};

/// Starts a program with limits; posix_spawn cannot set any.
/// out: its number, or -1
pid_t fork_limited(const LimitedStart& start) {
  auto filters = socket_filter();
  const sock_fprog program{static_cast<unsigned short>(filters.size()), filters.data()};
  const pid_t id = ::fork();
  if (id != 0) return id;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  const bool is_ready = ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0 &&
                        ::dup2(start.input >= 0 ? start.input : nothing, 0) == 0 &&
                        ::dup2(start.output, 1) == 1 && ::dup2(nothing, 2) == 2 &&
                        ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
                        accept_limits(start.limits, program);
  if (is_ready) ::execve(start.arguments[0], start.arguments, start.environment);
  ::_exit(127);
}

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
  char* const* environment = input.has_our_environment ? environ : nothing.data();
  int status = 0;
  if (input.limits) {
    id = fork_limited({words.data(), environment, text, ends[1], *input.limits});
    status = id < 0 ? errno : 0;
  } else {
    status = ::posix_spawn(&id, words[0], &plan.actions, &plan.attributes, words.data(), environment);
  }
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
