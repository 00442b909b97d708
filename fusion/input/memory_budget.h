#pragma once

// Training data larger than memory. While input is read, columns are written part by part to a first
// file. From there each feature's column is put into its final form and written to a second file, which
// learners read.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "core/progress.h"
#include "core/result.h"
#include "fusion/data/column_file.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// How much memory a training set may take while it is read and learned from.
struct MemoryLimit {
  std::size_t bytes = 0;
  std::string folder = ".";            ///< holds the column files: on a disk, not in memory
  std::size_t bytes_per_document = 0;  ///< what the learner needs besides columns and ids
  std::size_t part_bytes = 0;    ///< size of columns at which they are written; 0: derived from the limit
  ProgressReport progress = {};  ///< counts columns in their final form
};

/// How much was read.
struct RowCounts {
  std::size_t documents = 0;
  std::size_t characters = 0;  ///< of their ids
  std::size_t queries = 0;
};

/// How many pairs (TrainingSet::pairs) may be added to a training set within a memory limit: training also
/// needs the set's documents, and the weights of the pairs that follow from their grades.
///
/// errors: usage: the documents and their grades alone need more than the limit
/// cost:   O(documents log documents)
Result<std::size_t> most_pairs_within(const MemoryLimit& limit, const TrainingSet& set);

/// Keeps the readers of one input within a memory limit. Thread-safe.
class MemoryBudget {
 public:
  /// in:     readers - how many read at the same time
  /// errors: those of ColumnFile::open
  static Result<std::shared_ptr<MemoryBudget>> open(const MemoryLimit& limit, unsigned readers);

  ColumnFile& parts() const { return *parts_; }
  const std::shared_ptr<ColumnFile>& columns() const { return columns_; }
  const ProgressReport& progress() const { return limit_.progress; }
  /// How many bytes of columns each reader may keep in memory.
  std::size_t part_bytes() const { return part_bytes_; }

  /// Counts what was read. Thread-safe.
  /// errors: usage when everything read so far needs more than the limit
  Result<void> add(const RowCounts& read);

  /// How many columns may be brought into their final form at the same time.
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
