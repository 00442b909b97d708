#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::service {

/// Completions from what was asked and answered: queries that several people asked and clicked in, and what
/// engines suggested lately. What one person typed is never shown to another.
class Suggester {
 public:
  explicit Suggester(std::size_t capacity = 2000) : capacity_(capacity) {}

  /// in: domain - whose search they came with
  void learn(const std::string& domain, const std::vector<std::string>& suggestions);
  /// At most `limit` texts that contain the prefix at a word's begin (ASCII case ignored), the latest first.
  ///
  /// in: is_usable - whether whoever asks may use a domain; empty for all
  std::vector<std::string> complete(std::string_view prefix,
                                    const std::function<bool(const std::string& domain)>& is_usable = {},
                                    std::size_t limit = 8) const;

  /// Replaces a domain's asked queries.
  ///
  /// in: queries - each asked by enough people (Store::popular_queries), the most asked first
  void set_asked(const std::string& domain, std::vector<std::string> queries);
  /// At most `limit` of them with the prefix at a word's begin.
  std::vector<std::string> asked(const std::string& domain, std::string_view prefix, std::size_t limit) const;

 private:
  struct Known {
    std::string domain;
    std::string text;

    friend bool operator==(const Known&, const Known&) = default;
  };

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Known> known_;
  std::map<std::string, std::vector<std::string>> asked_;  ///< by domain
};

}  // namespace metafuse::service
