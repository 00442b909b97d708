#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/file_version.h"
#include "core/idle_pool.h"
#include "core/result.h"

namespace metafuse {

/// Idle connections to a file that may be replaced by a rename: a connection opened before the file was
/// replaced is never handed out again. Thread-safe.
///
/// in: Handle - owns its connection; a default-constructed one is empty, and compares equal to nullptr
template <class Handle>
class FilePool {
 public:
  /// A connection, with the version of the file that it was opened for.
  struct Taken {
    Handle handle;
    std::uint64_t version = 0;
  };

  explicit FilePool(std::string path) : file_(std::move(path)) {}

  /// An idle connection to the file as it is now, else a new one.
  ///
  /// in:     open - makes a connection: () -> Result<Handle>
  /// errors: as open()
  template <class Open>
  Result<Taken> take(Open&& open) {
    const std::uint64_t version = file_.now();
    Taken idle = pool_.take();
    while (idle.handle != nullptr && idle.version != version) idle = pool_.take();
    if (idle.handle != nullptr) return idle;
    TRY(auto handle, open());
    return Taken{std::move(handle), version};
  }

  void give_back(Taken taken) { pool_.give_back(std::move(taken)); }

 private:
  FileVersion file_;
  IdlePool<Taken> pool_;
};

}  // namespace metafuse
