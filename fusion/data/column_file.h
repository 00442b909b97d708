#pragma once

// Columns larger than memory: arrays that nothing changes any more lie in a file without a name, mapped, so
// that the kernel brings pages in as they are read and drops them where memory is short.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "core/result.h"

namespace metafuse::fusion {

/// Numbers that nothing changes any more, in memory or in a mapped file. Copies share them.
template <class Number>
class FrozenArray {
 public:
  FrozenArray() = default;
  FrozenArray(std::vector<Number> numbers) {
    auto owner = std::make_shared<const std::vector<Number>>(std::move(numbers));
    numbers_ = *owner;
    owner_ = std::move(owner);
  }
  FrozenArray(std::initializer_list<Number> numbers) : FrozenArray(std::vector<Number>(numbers)) {}
  /// in: owner - keeps the numbers where they are
  FrozenArray(std::shared_ptr<const void> owner, std::span<const Number> numbers)
      : owner_(std::move(owner)), numbers_(numbers) {}

  std::size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  const Number* data() const { return numbers_.data(); }
  const Number& operator[](std::size_t i) const { return numbers_[i]; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

  friend bool operator==(const FrozenArray& a, const FrozenArray& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const Number> numbers_;
};

/// A file that only this process sees and that is gone with it, however it ends.
class ColumnFile {
 public:
  /// errors: no_input: the folder is not there or may not be written
  static Result<std::shared_ptr<ColumnFile>> open(const std::string& folder);

  ColumnFile(const ColumnFile&) = delete;
  ColumnFile& operator=(const ColumnFile&) = delete;
  ~ColumnFile();

  /// Writes bytes behind all others. Several threads may.
  ///
  /// out:    where they begin, a multiple of 8
  /// errors: try_again: the disk is full, or the file larger than ulimit -f allows
  Result<std::uint64_t> append(std::span<const std::byte> bytes) { return append_aligned(bytes, 8); }

  /// What was appended before the last call leaves memory now, and the disk begins to take the rest: where
  /// memory is short, the kernel spends long looking for pages that are clean.
  void let_go();

  /// Writes numbers and maps them.
  /// errors: as append, and try_again when the process may have no more address space (ulimit -v)
  template <class Number>
  Result<FrozenArray<Number>> freeze(std::span<const Number> numbers) {
    TRY(const auto bytes, freeze_bytes(std::as_bytes(numbers)));
    const auto* const first = reinterpret_cast<const Number*>(bytes.data());
    return FrozenArray<Number>(bytes.owner(), {first, numbers.size()});
  }

  /// Frozen numbers that somebody reads soon come into memory, while the program goes on.
  template <class Number>
  static void expect(const FrozenArray<Number>& numbers) {
    advise(std::as_bytes(std::span(numbers.data(), numbers.size())), MADV_WILLNEED);
  }
  /// Frozen numbers that nobody reads soon leave memory.
  template <class Number>
  static void let_go(const FrozenArray<Number>& numbers) {
    advise(std::as_bytes(std::span(numbers.data(), numbers.size())), MADV_PAGEOUT);
  }

  /// Bytes that are taken next come into memory, while the program goes on.
  void expect(std::uint64_t begin, std::size_t size) const;

  /// Reads bytes that were appended, for the last time: the kernel may forget them.
  /// errors: try_again: the disk does not give them back
  Result<std::vector<std::byte>> take(std::uint64_t begin, std::size_t size) const;

  /// Everything that was appended so far.
  /// errors: as freeze
  Result<FrozenArray<std::byte>> map_all() const;

 private:
  ColumnFile(int descriptor, std::string folder) : descriptor_(descriptor), folder_(std::move(folder)) {}
  Result<std::uint64_t> append_aligned(std::span<const std::byte> bytes, std::uint64_t alignment);
  Result<FrozenArray<std::byte>> freeze_bytes(std::span<const std::byte> bytes);
  Result<FrozenArray<std::byte>> map(std::uint64_t begin, std::size_t size) const;
  static void advise(std::span<const std::byte> frozen, int advice);

  int descriptor_;
  std::string folder_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. Bytes before `gone_` are let go, the disk is taking those before `leaving_`.
  std::uint64_t gone_ = 0;
  std::uint64_t leaving_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace metafuse::fusion
