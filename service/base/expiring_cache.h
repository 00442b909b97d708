#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/deadline.h"

namespace metafuse::service {

/// Values by name until their time is over, least recently used out first, bounded in number and in bytes.
/// Not for several threads at once.
template <class Value>
class ExpiringCache {
 public:
  struct Entry {
    std::string key;
    Value value;
    TimePoint until;
    std::size_t bytes = 0;
    std::size_t uses = 0;  ///< times it was found
  };

  ExpiringCache(std::size_t max_entries, std::size_t max_bytes)
      : max_entries_(max_entries), max_bytes_(max_bytes) {}

  /// The entry, used once more; nullptr when there is none whose time is not over. Valid until the next call.
  const Entry* find(std::string_view key, TimePoint now) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    if (at->second->until <= now) {
      remove(at->second);
      return nullptr;
    }
    order_.splice(order_.begin(), order_, at->second);
    ++at->second->uses;
    return &*at->second;
  }

  /// The same without using it.
  const Entry* peek(std::string_view key, TimePoint now) const {
    const auto at = index_.find(key);
    return at == index_.end() || at->second->until <= now ? nullptr : &*at->second;
  }

  /// Keeps a value, in the place of one of the same name; one that alone is larger than the cache is
  /// not kept.
  void keep(std::string key, Value value, TimePoint until, std::size_t bytes) {
    if (max_entries_ == 0 || bytes > max_bytes_) return;
    if (const auto at = index_.find(key); at != index_.end()) remove(at->second);
    order_.push_front({std::move(key), std::move(value), until, bytes, 0});
    index_.emplace(order_.front().key, order_.begin());
    bytes_ += bytes;
    while (order_.size() > max_entries_ || bytes_ > max_bytes_) remove(std::prev(order_.end()));
  }

  void clear() {
    index_.clear();
    order_.clear();
    bytes_ = 0;
  }
  std::size_t size() const { return order_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  using Place = typename std::list<Entry>::iterator;

  void remove(Place entry) {
    bytes_ -= entry->bytes;
    index_.erase(entry->key);
    order_.erase(entry);
  }

  std::size_t max_entries_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> order_;                             ///< most recently used first
  std::unordered_map<std::string_view, Place> index_;  ///< names are the entries'
};

}  // namespace metafuse::service
