#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace metafuse {

/// Writes a whole file: beside it first, synced, then renamed, so that a reader sees the old file or the new
/// one. "-" writes to standard output.
///
/// errors: no_input when the folder does not exist or may not be written, try_again when the disk is full;
///         nothing half-written stays behind
Result<void> write_file(const std::string& path, std::string_view content);

/// Whether write_file could begin: asked before long work whose outcome goes there, so that it is not lost.
///
/// errors: no_input: a folder, a folder that is not there or may not be written
Result<void> check_writable(const std::string& path);

/// The error of a failed write to `path`: try_again when the disk is full, else no_input.
Error write_error(const std::string& path, int number);

/// Writes a large file piece by piece with the promise of write_file: a reader sees the old file or the whole
/// new one, and a process that is killed leaves nothing behind where the file system knows files without a
/// name (O_TMPFILE). "-" writes to standard output at once.
class FileWriter {
 public:
  /// errors: as write_file
  static Result<FileWriter> open(const std::string& path);

  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();  ///< without commit(): nothing stays behind

  Result<void> write(std::string_view text);
  /// Syncs and renames. Requires that nothing was committed before.
  Result<void> commit();

 private:
  struct State;
  explicit FileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// An advisory lock on a file or a folder that dies with the process.
class FileLock {
 public:
  /// in:     path - a folder that is there, or a file, which is made; taken - what is said when another
  ///         holds it
  /// errors: unavailable: another holds it; no_input: the path cannot be opened or made
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
