#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace metafuse::fusion {

/// Numbers that grow in place: a large block is a mapping of its own, which moves by page tables instead of
/// copies, leaves no hole behind, and takes no memory where it was never written. All room behind the end is
/// 0.
template <class Number>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    GrowingArray taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~GrowingArray() { release(numbers_, capacity_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Number operator[](std::size_t i) const { return numbers_[i]; }
  const Number* begin() const { return numbers_; }
  const Number* end() const { return numbers_ + size_; }

  /// Puts a number at a place at or behind the end; the places skipped become 0.
  void put(std::size_t at, Number number) {
    if (at >= capacity_) [[unlikely]]
      grow(at + 1 + at / 4 + 64);
    numbers_[at] = number;
    size_ = at + 1;
  }

  void push_back(Number number) { put(size_, number); }

  void clear() { *this = GrowingArray(); }

 private:
  static constexpr std::size_t kMapped =
      (std::size_t{1} << 16) / sizeof(Number);  // numbers of a mapping, at least

  void swap(GrowingArray& other) noexcept {
    std::swap(numbers_, other.numbers_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  static void release(Number* numbers, std::size_t capacity) {
    if (capacity < kMapped)
      std::free(numbers);
    else
      ::munmap(numbers, capacity * sizeof(Number));
  }

  static Number* map(std::size_t count) {
    void* const block =
        ::mmap(nullptr, count * sizeof(Number), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    return static_cast<Number*>(block);
  }

  void grow(std::size_t capacity) {
    if (capacity < kMapped) {
      void* const moved = std::realloc(numbers_, capacity * sizeof(Number));
      if (moved == nullptr) throw std::bad_alloc();
      numbers_ = static_cast<Number*>(moved);
      std::memset(numbers_ + capacity_, 0, (capacity - capacity_) * sizeof(Number));
    } else if (capacity_ < kMapped) {
      Number* const block = map(capacity);
      if (size_ > 0) std::memcpy(block, numbers_, size_ * sizeof(Number));
      release(numbers_, capacity_);
      numbers_ = block;
    } else {
      void* const moved =
          ::mremap(numbers_, capacity_ * sizeof(Number), capacity * sizeof(Number), MREMAP_MAYMOVE);
      if (moved == MAP_FAILED) throw std::bad_alloc();
      numbers_ = static_cast<Number*>(moved);
    }
    capacity_ = capacity;
  }

  Number* numbers_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace metafuse::fusion
