#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::service {

/// Completions from what engines suggested lately. Only engines' words are offered: what one user typed is
/// never shown to another.
class Suggester {
 public:
  explicit Suggester(std::size_t capacity = 2000) : capacity_(capacity) {}

  void learn(const std::vector<std::string>& suggestions);
  /// At most `limit` texts that contain the prefix at a word's begin (ASCII case ignored), the latest first.
  std::vector<std::string> complete(std::string_view prefix, std::size_t limit = 8) const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;
};

}  // namespace metafuse::service
