#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

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

}  // namespace metafuse
