#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/deadline.h"
#include "core/result.h"
#include "service/search_pipeline.h"

namespace metafuse::service {

using SharedAnswer = std::shared_ptr<const SearchAnswer>;

/// Answers of the last while, least recently used out first. Of equal requests that come together one does
/// the work and the others wait for it.
class AnswerCache {
 public:
  AnswerCache(std::size_t entries, Duration lifetime, const Clock& clock);

  /// The cached answer, or that of `make`. Answers with failed engines are handed to those who wait but not
  /// kept.
  ///
  /// out: was_cached - whether `make` was spared
  Result<SharedAnswer> get(const std::string& key, const std::function<Result<SearchAnswer>()>& make,
                           bool& was_cached);
  /// Only what is there; never waits for work.
  SharedAnswer peek(const std::string& key);
  void clear();
  std::size_t size() const;

 private:
  struct Entry {
    std::string key;
    SharedAnswer answer;
    TimePoint until;
  };
  /// Work under way that others wait for.
  struct Flight {
    std::condition_variable done;
    bool is_done = false;
    Result<SharedAnswer> outcome = SharedAnswer();
  };

  SharedAnswer find(const std::string& key);
  void keep(const std::string& key, SharedAnswer answer);

  const std::size_t entries_;
  const Duration lifetime_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace metafuse::service
