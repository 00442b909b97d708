#pragma once

// Replaces the system's fsync() in an executable whose tests look at what is synced. To be included by one of
// its files.

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace metafuse::test {

/// The files and folders that are synced on this thread while it exists, under the names that they then have.
class SyncedPaths {
 public:
  SyncedPaths() { noted() = &paths; }
  SyncedPaths(const SyncedPaths&) = delete;
  SyncedPaths& operator=(const SyncedPaths&) = delete;
  ~SyncedPaths() { noted() = nullptr; }

  static std::vector<std::string>*& noted() {
    static thread_local std::vector<std::string>* paths = nullptr;
    return paths;
  }

  std::vector<std::string> paths;
};

}  // namespace metafuse::test

extern "C" int fsync(int descriptor) {
  if (auto* paths = metafuse::test::SyncedPaths::noted(); paths != nullptr) {
    std::error_code error;
    paths->push_back(
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error).string());
  }
  return ::fdatasync(descriptor);
}
