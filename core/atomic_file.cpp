#include "core/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace metafuse {
namespace {

/// All bytes or the number of the error.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<void> write_in_place(const std::string& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return write_error(path, errno);
  int error = write_all(descriptor, content);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) return write_error(path, error);
  return {};
}

}  // namespace

Error write_error(const std::string& path, int number) {
  const Code code = number == ENOSPC || number == EDQUOT || number == EIO ? Code::try_again : Code::no_input;
  const char* remedy = number == ENOSPC || number == EDQUOT ? "free some space and try again"
                                                            : "check the path and its permissions";
  return fail(code, path + ": cannot write: " + std::strerror(number) + "; " + remedy);
}

Result<void> write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (const int error = write_all(STDOUT_FILENO, content); error != 0)
      return write_error("standard output", error);
    return {};
  }
  // A device or a pipe cannot be replaced by a rename: it is written in place.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return write_in_place(path, content);
  std::string beside = path + ".XXXXXX";
  const int descriptor = ::mkostemp(beside.data(), O_CLOEXEC);
  if (descriptor < 0) return write_error(path, errno);
  int error = write_all(descriptor, content);
  if (error == 0 && ::fchmod(descriptor, 0644) != 0) error = errno;
  if (error == 0 && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    return write_error(path, error);
  }
  return {};
}

}  // namespace metafuse
