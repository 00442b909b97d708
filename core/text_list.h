#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse {

/// A list of texts in one block of memory. Each text costs four bytes besides its characters (eight once they
/// exceed 4 GiB together), and no allocation of its own.
class TextList {
 public:
  TextList() = default;
  TextList(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) push_back(text);
  }
  TextList(std::size_t count, std::string_view text) {
    for (std::size_t i = 0; i < count; ++i) push_back(text);
  }

  std::size_t size() const { return ends_.empty() ? wide_ends_.size() : ends_.size(); }
  bool empty() const { return size() == 0; }
  /// The bytes of all texts together.
  std::size_t bytes() const { return characters_.size(); }
  /// A view that is valid until the list changes.
  std::string_view operator[](std::size_t i) const {
    const std::uint64_t begin = i == 0 ? 0 : end_of(i - 1);
    return {characters_.data() + begin, end_of(i) - begin};
  }

  void reserve(std::size_t count, std::size_t bytes) {
    ends_.reserve(count);
    characters_.reserve(bytes);
  }
  void push_back(std::string_view text) {
    characters_ += text;
    if (characters_.size() > kMostNarrow) [[unlikely]]
      push_wide();
    else
      ends_.push_back(static_cast<std::uint32_t>(characters_.size()));
  }

  /// The index of `text` within [begin, end), whose texts must be in ascending byte order; nullopt
  /// when absent.
  std::optional<std::size_t> find_ascending(std::size_t begin, std::size_t end, std::string_view text) const {
    std::size_t behind = end;
    while (begin < behind) {
      const std::size_t middle = begin + (behind - begin) / 2;
      if ((*this)[middle] < text)
        begin = middle + 1;
      else
        behind = middle;
    }
    if (begin == end || (*this)[begin] != text) return std::nullopt;
    return begin;
  }

  friend bool operator==(const TextList&, const TextList&) = default;

 private:
  static constexpr std::size_t kMostNarrow = 0xffffffff;

  std::uint64_t end_of(std::size_t i) const { return ends_.empty() ? wide_ends_[i] : ends_[i]; }

  void push_wide() {
    if (!ends_.empty()) wide_ends_.assign(ends_.begin(), ends_.end());
    ends_ = {};
    wide_ends_.push_back(characters_.size());
  }

  // The end offset of each text. Only one of the two vectors is in use.
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint64_t> wide_ends_;
  std::string characters_;
};

}  // namespace metafuse
