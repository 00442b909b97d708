#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace metafuse {

/// Who may read a written file: those who may read the file that it replaces, or its owner alone.
enum class FileAccess { usual, owner };

/// Writes a whole file atomically: the content goes into a file beside it, which is synced and then renamed,
/// so that a reader sees either the old file or the new one. "-" writes to standard output.
///
/// errors: no_input when the folder does not exist or is not writable; try_again when the disk is full. No
///         half-written file is left behind.
Result<void> write_file(const std::string& path, std::string_view content,
                        FileAccess access = FileAccess::usual);

/// Checks that write_file could start. Call it before long work whose result goes into the file, so that the
/// result is not lost.
///
/// errors: no_input when the path is a folder, or its folder does not exist or is not writable
Result<void> check_writable(const std::string& path);

/// The error for a failed write to `path`, where `number` is errno: try_again when the disk is full, the file
/// exceeds the size limit or the device failed; else no_input.
Error write_error(const std::string& path, int number);

/// Writes a large file piece by piece, as atomically as write_file: a reader sees either the old file or the
/// whole new one. A killed process leaves nothing behind if the file system supports unnamed files
/// (O_TMPFILE). "-" writes to standard output immediately.
class FileWriter {
 public:
  /// errors: as write_file
  static Result<FileWriter> open(const std::string& path, FileAccess access = FileAccess::usual);

  FileWriter(FileWriter&&) noexcept;
  ~FileWriter();  ///< without commit(), the written data is discarded

  Result<void> write(std::string_view text);
  /// Syncs and renames. Requires that the file has not been committed yet.
  Result<void> commit();

 private:
  struct State;
  explicit FileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Puts a file that was written beside another into its place, as atomically as write_file: a reader sees
/// either the old file or the new one, also after the power has failed.
///
/// errors: those of write_error(); the file beside then stays where it is
Result<void> replace_file(const std::string& beside, const std::string& path);

/// An advisory lock on a file or a folder. The system releases it when the process ends. Its holder may
/// remove the file: who then waits for it takes another one of the same name.
class FileLock {
 public:
  /// in:     path - an existing folder, or a file, which is created if missing; taken - the error's text when
  ///         another process holds the lock; access - to a file that is created
  /// errors: unavailable: another process holds the lock; no_input: the path cannot be opened, created
  ///         or locked
  static Result<FileLock> take(const std::string& path, const std::string& taken,
                               FileAccess access = FileAccess::owner);

  /// Waits for a lock that another process holds.
  /// in:     gives_up - asked after each try
  /// errors: those of take()
  static Result<FileLock> wait(const std::string& path, const std::string& taken,
                               const std::function<bool()>& gives_up, FileAccess access = FileAccess::owner);

  FileLock() = default;
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

 private:
  bool is_of(const std::string& path) const;

  int descriptor_ = -1;
};

}  // namespace metafuse
