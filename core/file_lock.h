#pragma once

#include <string>
#include <utility>

#include "core/result.h"

namespace metafuse {

/// An advisory lock on a file or a folder that dies with the process.
class FileLock {
 public:
  /// in:     path - a folder that is there, or a file, which is made; taken - what is said when another holds
  /// it errors: unavailable: another holds it; no_input: the path cannot be opened or made
  static Result<FileLock> take(const std::string& path, const std::string& taken);

  FileLock() = default;
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace metafuse
