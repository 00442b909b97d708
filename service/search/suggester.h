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

/// Completions from earlier searches: queries that several people asked and clicked, and recent suggestions
/// by engines. A query that only one person typed is never shown to others. Safe from any thread.
class Suggester {
 public:
  explicit Suggester(std::size_t capacity = 2000) : capacity_(capacity) {}

  /// Adds suggestions that engines returned.
  ///
  /// in: domain - of the search
  void learn(const std::string& domain, const std::vector<std::string>& suggestions);
  /// At most `limit` of the engines' suggestions that contain the prefix at the beginning of a word (ASCII
  /// case ignored), the latest first.
  ///
  /// in: is_usable - whether the client may use a domain; empty for all
  std::vector<std::string> complete(std::string_view prefix,
                                    const std::function<bool(const std::string& domain)>& is_usable = {},
                                    std::size_t limit = 8) const;

  /// Replaces a domain's list of asked queries.
  ///
  /// in: queries - each asked by enough people (Store::popular_queries), the most asked first
  void set_asked(const std::string& domain, std::vector<std::string> queries);
  /// At most `limit` of a domain's asked queries that contain the prefix at the beginning of a word.
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
