#pragma once

// Training data larger than memory: while files are read, columns go part by part into one file, and from
// there, feature by feature and in their final form, into another, which is what learners see.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "core/progress.h"
#include "core/result.h"
#include "fusion/data/column_file.h"

namespace metafuse::fusion {

/// How much memory a training set may take while it is read and learned from.
struct MemoryLimit {
  std::size_t bytes = 0;
  std::string folder = ".";            ///< of the files of columns: on a disk, since memory is short
  std::size_t bytes_per_document = 0;  ///< that the learner needs beside columns and ids
  std::size_t part_bytes = 0;          ///< of columns before they go to the file; 0: what the limit allows
  ProgressReport progress = {};        ///< of columns in their final form
};

/// What was read.
struct RowCounts {
  std::size_t documents = 0;
  std::size_t characters = 0;  ///< of their ids
  std::size_t queries = 0;
};

/// Keeps the readers of one input within a limit.
class MemoryBudget {
 public:
  /// in:     readers - that read at the same time
  /// errors: those of ColumnFile::open
  static Result<std::shared_ptr<MemoryBudget>> open(const MemoryLimit& limit, unsigned readers);

  ColumnFile& parts() const { return *parts_; }
  const std::shared_ptr<ColumnFile>& columns() const { return columns_; }
  const ProgressReport& progress() const { return limit_.progress; }
  /// Of columns that one reader may keep.
  std::size_t part_bytes() const { return part_bytes_; }

  /// Counts what was read. Several threads may.
  /// errors: usage when all so far need more than the limit
  Result<void> add(const RowCounts& read);

  /// How many columns may get their final form at the same time.
  unsigned columns_at_once(unsigned threads) const;

 private:
  MemoryBudget(const MemoryLimit& limit, unsigned readers, std::shared_ptr<ColumnFile> parts,
               std::shared_ptr<ColumnFile> columns);

  MemoryLimit limit_;
  std::size_t part_bytes_;
  std::shared_ptr<ColumnFile> parts_;
  std::shared_ptr<ColumnFile> columns_;
  std::atomic<std::size_t> documents_{0};
  std::atomic<std::size_t> characters_{0};
  std::atomic<std::size_t> queries_{0};
};

}  // namespace metafuse::fusion
