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

struct IndexWritingOptions {
  TellWait tell{};  ///< called if another program is writing the index, before waiting for it to end; without
                    ///< it the wait is a second only
  IsInterrupted is_interrupted{};
  bool takes_unreadable = false;  ///< a file that is no database is an index, too, though a damaged one
};

/// The writing of an index: a file beside it, which then takes its place. One program at a time can write an
/// index; a lock on DATABASE.lock, which is removed with it, tells the others.
class IndexWriting {
 public:
  /// Takes the lock, and removes what killed programs have left beside the index.
  ///
  /// errors: try_again: another program is writing the index, or interrupted; no_input: something other than
  ///         an index exists at `database`, or its folder is not writable
  static Result<IndexWriting> begin(const std::string& database, const IndexWritingOptions& options);

  IndexWriting(IndexWriting&& other) noexcept
      : database_(std::exchange(other.database_, {})),
        beside_(std::exchange(other.beside_, {})),
        is_unreadable_(other.is_unreadable_),
        lock_(std::move(other.lock_)) {}
  ~IndexWriting();  ///< without finish(), what was written is discarded

  /// Where to write. No such file exists at first.
  const std::string& path() const { return beside_; }

  /// Puts the file into the place of the index. One that could not be read is renamed before.
  ///
  /// out:    its new name; empty for any other
  /// errors: those of replace_file(); try_again: it cannot be renamed
  Result<std::string> finish();

 private:
  IndexWriting(std::string database, FileLock lock);
  std::string lock_path() const { return database_ + ".lock"; }

  std::string database_;
  std::string beside_;          ///< empty once it has been put in place
  bool is_unreadable_ = false;  ///< what was at `database_`
  FileLock lock_;
};

}  // namespace metafuse::fetchers
