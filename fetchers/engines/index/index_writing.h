#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/atomic_file.h"
#include "core/progress.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// Says what is waited for, once, before a wait.
using TellWait = std::function<void(const std::string& what)>;

/// The writing of an index: a file beside it, which then takes its place. One program at a time can write an
/// index; a lock on DATABASE.lock, which is removed with it, tells the others.
class IndexWriting {
 public:
  /// Takes the lock, and removes what killed programs have left beside the index.
  ///
  /// in:     tell - called if another program is writing the index; the call then waits for it to end.
  ///         Without it, the call waits for a second only
  /// errors: try_again: another program is writing the index, or interrupted; no_input: something other than
  ///         an index exists at `database`, or its folder is not writable
  static Result<IndexWriting> begin(const std::string& database, const TellWait& tell,
                                    const IsInterrupted& is_interrupted);

  IndexWriting(IndexWriting&& other) noexcept
      : database_(std::exchange(other.database_, {})),
        beside_(std::exchange(other.beside_, {})),
        lock_(std::move(other.lock_)) {}
  ~IndexWriting();  ///< without finish(), what was written is discarded

  /// Where to write. No such file exists at first.
  const std::string& path() const { return beside_; }

  /// Puts the file into the place of the index.
  /// errors: those of replace_file()
  Result<void> finish();

 private:
  IndexWriting(std::string database, FileLock lock);
  std::string lock_path() const { return database_ + ".lock"; }

  std::string database_;
  std::string beside_;  ///< empty once it has been put in place
  FileLock lock_;
};

}  // namespace metafuse::fetchers
