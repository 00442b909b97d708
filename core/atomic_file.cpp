#include "core/atomic_file.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/contract.h"

namespace metafuse {
namespace {

constexpr const char* kDescriptors = "/proc/self/fd/";
constexpr mode_t kMode = 0666;  // minus the bits of the user's umask
constexpr std::chrono::milliseconds kBetweenLockTries{10};

/// A name beside `path` that nobody else is likely to use; each number gives another one.
std::string name_beside(const std::string& path, unsigned number) {
  return path + "." + std::to_string(::getpid()) + "-" + std::to_string(number);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// The file that a path names: itself, or what a symbolic link leads to.
std::string target_of(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

/// Gives the file the owner and group of `other`, if this process is root's. Others may not, and the system
/// call is one that a server's unit need not allow.
void own_like(int descriptor, const struct stat& other) {
  if (::geteuid() != 0 || ::fchown(descriptor, other.st_uid, other.st_gid) == 0) return;
}

/// Gives an unnamed file a name beside `path`, which is stored in `name`.
/// out:    false, with errno set, on failure
bool link_beside(int descriptor, const std::string& path, std::string& name) {
  const std::string from = kDescriptors + std::to_string(descriptor);
  for (unsigned number = 0;; ++number) {
    name = name_beside(path, number);
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno == EEXIST) continue;
    name.clear();
    return false;
  }
}

/// Gives an open file its place when its bytes are on the disk, so that its new name is there too. Closes it.
///
/// in:     beside - its name until then, which is empty afterwards. A file without a name gets one as late as
///         possible, because a process that is killed leaves it behind from then on.
/// errors: those of write_error(); the file stays where it is
Result<void> put_in_place(int descriptor, std::string& beside, const std::string& path) {
  const bool is_safe = ::fsync(descriptor) == 0 && (!beside.empty() || link_beside(descriptor, path, beside));
  const int error = errno;
  const bool is_closed = ::close(descriptor) == 0;
  if (!is_safe) return write_error(path, error);
  if (!is_closed || std::rename(beside.c_str(), path.c_str()) != 0) return write_error(path, errno);
  beside.clear();
  // Some file systems cannot sync a folder. The file is in its place already, so this is no failure.
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return {};
  static_cast<void>(::fsync(folder));
  ::close(folder);
  return {};
}

}  // namespace

Error write_error(const std::string& path, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT;
  const bool is_beyond_limit = number == EFBIG;
  const Code code = is_full || is_beyond_limit || number == EIO ? Code::try_again : Code::no_input;
  const char* remedy = is_full           ? "free some space and try again"
                       : is_beyond_limit ? "raise the limit on the size of files (ulimit -f) and try again"
                                         : "check the path and its permissions";
  return fail(code, path + ": cannot write: " + std::strerror(number) + "; " + remedy);
}

Result<void> check_writable(const std::string& path) {
  struct stat status {};
  if (path == "-") return {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return write_error(path, EISDIR);
    if (!S_ISREG(status.st_mode)) {  // devices and pipes are written in place
      if (::access(path.c_str(), W_OK) != 0) return write_error(path, errno);
      return {};
    }
  } else if (errno != ENOENT) {
    return write_error(path, errno);
  }
  if (::access(folder_of(target_of(path)).c_str(), W_OK | X_OK) != 0) return write_error(path, errno);
  return {};
}

Result<void> write_file(const std::string& path, std::string_view content, FileAccess access) {
  TRY(auto writer, FileWriter::open(path, access));
  TRY_VOID(writer.write(content));
  return writer.commit();
}

struct FileWriter::State {
  std::string path;
  bool is_in_place = false;
  std::string beside;  // the temporary name until the rename; empty while the file has none
  int descriptor = -1;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (descriptor > STDERR_FILENO) ::close(descriptor);
    if (!beside.empty()) ::unlink(beside.c_str());
  }

  /// Opens an unnamed file if the file system supports it: the system deletes it however the process ends.
  /// Otherwise creates a file with a temporary name.
  void open_beside() {
    errno = EOPNOTSUPP;
    if (::access(kDescriptors, X_OK) == 0)  // needed to name the file later
      descriptor = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return;
    for (unsigned number = 0; descriptor < 0; ++number) {
      beside = name_beside(path, number);
      descriptor = ::open(beside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kMode);
      if (descriptor >= 0 || errno == EEXIST) continue;
      beside.clear();
      return;
    }
  }
};

FileWriter::FileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileWriter::FileWriter(FileWriter&&) noexcept = default;
FileWriter::~FileWriter() = default;

Result<FileWriter> FileWriter::open(const std::string& path, FileAccess access) {
  auto state = std::make_unique<State>();
  state->path = path == "-" ? "standard output" : path;
  struct stat status {};
  const bool is_there = path != "-" && ::stat(path.c_str(), &status) == 0;
  state->is_in_place = path == "-" || (is_there && !S_ISREG(status.st_mode));
  if (path == "-") {
    state->descriptor = STDOUT_FILENO;
  } else if (state->is_in_place) {
    state->descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (is_there) state->path = target_of(path);
    state->open_beside();
    if (is_there && state->descriptor >= 0) own_like(state->descriptor, status);
    const mode_t mode = (is_there ? status.st_mode : kMode) & (access == FileAccess::owner ? 0700 : 0777);
    if ((is_there || access == FileAccess::owner) && state->descriptor >= 0)
      ::fchmod(state->descriptor, mode);
  }
  if (state->descriptor < 0) return write_error(state->path, errno);
  return FileWriter(std::move(state));
}

Result<void> FileWriter::write(std::string_view text) {
  require(state_ != nullptr && state_->descriptor >= 0, "the file is open");
  while (!text.empty()) {
    const ssize_t written = ::write(state_->descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(state_->path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> FileWriter::commit() {
  require(state_ != nullptr && state_->descriptor >= 0, "the file is open");
  if (state_->is_in_place) {
    if (state_->descriptor == STDOUT_FILENO) return {};
    const bool is_closed = ::close(std::exchange(state_->descriptor, -1)) == 0;
    if (!is_closed) return write_error(state_->path, errno);
    return {};
  }
  return put_in_place(std::exchange(state_->descriptor, -1), state_->beside, state_->path);
}

Result<void> replace_file(const std::string& beside, const std::string& path) {
  const int descriptor = ::open(beside.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return write_error(beside, errno);
  std::string name = beside;
  return put_in_place(descriptor, name, path);
}

namespace {

/// Opens a folder, or a file, which is created if it is missing. Over NFS, a file can only be locked if it is
/// open for writing.
int open_to_lock(const std::string& path, FileAccess access) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor >= 0) return descriptor;
  if (errno != ENOENT) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, access == FileAccess::owner ? 0600 : kMode);
  struct stat folder {};  // what root locks here, the folder's owner can lock later
  if (descriptor >= 0 && ::stat(folder_of(path).c_str(), &folder) == 0) own_like(descriptor, folder);
  return descriptor;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, const std::string& taken, FileAccess access) {
  for (;;) {
    FileLock lock;
    lock.descriptor_ = open_to_lock(path, access);
    if (lock.descriptor_ < 0) return write_error(path, errno);
    if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) == 0) {
      if (lock.is_of(path)) return lock;
      continue;  // its holder has removed the file
    }
    if (errno == EWOULDBLOCK) return fail(Code::unavailable, path + ": " + taken);
    if (errno != EINTR) return fail(Code::no_input, path + ": cannot be locked: " + std::strerror(errno));
  }
}

Result<FileLock> FileLock::wait(const std::string& path, const std::string& taken,
                                const std::function<bool()>& gives_up, FileAccess access) {
  for (;;) {
    auto lock = take(path, taken, access);
    if (lock || lock.error().code != Code::unavailable || gives_up()) return lock;
    std::this_thread::sleep_for(kBetweenLockTries);
  }
}

/// Whether the path still names the file that is locked.
bool FileLock::is_of(const std::string& path) const {
  struct stat mine = {};
  struct stat named = {};
  return ::fstat(descriptor_, &mine) == 0 && ::stat(path.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace metafuse
