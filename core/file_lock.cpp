#include "core/atomic_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>


namespace metafuse {

Result<FileLock> FileLock::take(const std::string& path, const std::string& taken) {
  FileLock lock;
  lock.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock.descriptor_ < 0 && errno == ENOENT)
    lock.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock.descriptor_ < 0) return write_error(path, errno);
  if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) return fail(Code::unavailable, path + ": " + taken);
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace metafuse
