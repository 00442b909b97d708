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
/// that engines returned to several people. A query that only one person typed, which an engine may repeat in
/// its suggestions, is never shown to others. Safe from any thread.
class Suggester {
 public:
  /// How many senders must have asked for a text before others see it.
  static constexpr std::size_t kFewestPeople = 5;

  explicit Suggester(std::size_t capacity = 2000) : capacity_(capacity) {}

  /// Notes suggestions that engines returned. One is offered once kFewestPeople senders' searches brought it.
  ///
  /// in: domain - of the search; sender - Exchange::sender()
  void learn(const std::string& domain, const std::vector<std::string>& suggestions,
             const std::string& sender);
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
    std::vector<std::string> senders;  ///< at most kFewestPeople
  };

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Known> known_;
  std::map<std::string, std::vector<std::string>> asked_;  ///< by domain
};

}  // namespace metafuse::service
