#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <sys/stat.h>

namespace metafuse {

/// Counts how often the file at a path was seen to be another one, so that a reader notices a file that was
/// replaced by a rename. Thread-safe.
class FileVersion {
 public:
  explicit FileVersion(std::string path) : path_(std::move(path)) {}

  /// out:    grows when the file is not the one of the last call; a file that is missing changes nothing
  /// cost:   one system call
  std::uint64_t now() {
    struct stat found {};
    const bool is_there = ::stat(path_.c_str(), &found) == 0;
    const std::lock_guard lock(mutex_);
    if (!is_there) return version_;
    const bool is_same = found.st_dev == last_.st_dev && found.st_ino == last_.st_ino &&
                         found.st_size == last_.st_size && found.st_mtim.tv_sec == last_.st_mtim.tv_sec &&
                         found.st_mtim.tv_nsec == last_.st_mtim.tv_nsec;
    if (!is_same) {
      last_ = found;
      ++version_;
    }
    return version_;
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  struct stat last_ {};
  std::uint64_t version_ = 0;
};

}  // namespace metafuse
