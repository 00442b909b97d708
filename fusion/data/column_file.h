#pragma once

// Columns larger than memory. Arrays that no longer change are written to a nameless temporary file and
// mapped, so that the kernel loads pages as they are read and drops them when memory is short.

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

/// An immutable array of numbers, in memory or in a mapped file. Copies share the same numbers.
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
  /// in: owner - keeps the numbers' storage alive
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

/// A temporary file that only this process can see. The kernel deletes it when the process ends, even by
/// a crash.
class ColumnFile {
 public:
  /// errors: no_input: the folder is not there or may not be written
  static Result<std::shared_ptr<ColumnFile>> open(const std::string& folder);

  ColumnFile(const ColumnFile&) = delete;
  ColumnFile& operator=(const ColumnFile&) = delete;
  ~ColumnFile();

  /// Appends bytes to the file. Thread-safe.
  ///
  /// out:    the offset of the first byte, a multiple of 8
  /// errors: try_again: the disk is full, or the file would exceed the file size limit (ulimit -f)
  Result<std::uint64_t> append(std::span<const std::byte> bytes) { return append_aligned(bytes, 8); }

  /// Drops from memory what was appended before the previous call, and starts writing the rest to disk.
  /// Clean pages are cheap to drop; where memory is short, the kernel otherwise spends a long time looking
  /// for some.
  void let_go();

  /// Appends numbers and maps them.
  /// errors: as append, and try_again when the process may have no more address space (ulimit -v)
  template <class Number>
  Result<FrozenArray<Number>> freeze(std::span<const Number> numbers) {
    TRY(const auto bytes, freeze_bytes(std::as_bytes(numbers)));
    const auto* const first = reinterpret_cast<const Number*>(bytes.data());
    return FrozenArray<Number>(bytes.owner(), {first, numbers.size()});
  }

  /// Starts loading numbers that will be read soon; does not wait for them.
  template <class Number>
  static void expect(const FrozenArray<Number>& numbers) {
    advise(std::as_bytes(std::span(numbers.data(), numbers.size())), MADV_WILLNEED);
  }
  /// Tells the kernel that nobody reads these numbers soon, so that they leave memory.
  template <class Number>
  static void let_go(const FrozenArray<Number>& numbers) {
    advise(std::as_bytes(std::span(numbers.data(), numbers.size())), MADV_PAGEOUT);
  }

  /// Starts loading bytes that are the next to be taken; does not wait for them.
  void expect(std::uint64_t begin, std::size_t size) const;

  /// Reads appended bytes for the last time; the kernel may then drop them from its cache.
  /// errors: try_again: the file cannot be read or is shorter than what was written
  Result<std::vector<std::byte>> take(std::uint64_t begin, std::size_t size) const;

  /// Maps everything appended so far.
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
  // Guarded by mutex_. Bytes before `gone_` were dropped from memory; those before `leaving_` are
  // being written.
  std::uint64_t gone_ = 0;
  std::uint64_t leaving_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace metafuse::fusion
