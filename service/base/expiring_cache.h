#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/deadline.h"
#include "core/recently_used.h"

namespace metafuse::service {

/// A cache of values by name, each with a time at which it expires. Bounded in number and in bytes; the least
/// recently used value is dropped first. Not safe for several threads at once.
template <class Value>
class ExpiringCache {
 public:
  struct Entry {
    Value value;
    TimePoint until;
    std::size_t bytes = 0;
    std::size_t uses = 0;  ///< how often find() returned it
  };

  ExpiringCache(std::size_t max_entries, std::size_t max_bytes)
      : max_entries_(max_entries), max_bytes_(max_bytes) {}

  /// The entry, which counts as used; nullptr when there is none or it has expired. Valid until the
  /// next call.
  const Entry* find(std::string_view key, TimePoint now) {
    Entry* const entry = entries_.use(key);
    if (entry == nullptr) return nullptr;
    if (entry->until <= now) {
      remove(key);
      return nullptr;
    }
    ++entry->uses;
    return entry;
  }

  /// As find(), but the entry does not count as used.
  const Entry* peek(std::string_view key, TimePoint now) const {
    const Entry* const entry = entries_.peek(key);
    return entry == nullptr || entry->until <= now ? nullptr : entry;
  }

  /// Keeps a value, which replaces one of the same name. A value larger than the whole cache is not kept.
  void keep(std::string key, Value value, TimePoint until, std::size_t bytes) {
    if (max_entries_ == 0 || bytes > max_bytes_) return;
    remove(key);
    entries_.put(std::move(key), {std::move(value), until, bytes, 0});
    bytes_ += bytes;
    while (entries_.size() > max_entries_ || bytes_ > max_bytes_) {
      bytes_ -= entries_.oldest().bytes;
      entries_.remove_oldest();
    }
  }

  void clear() {
    entries_.clear();
    bytes_ = 0;
  }
  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  void remove(std::string_view key) {
    if (const Entry* const entry = entries_.peek(key); entry != nullptr) bytes_ -= entry->bytes;
    entries_.remove(key);
  }

  std::size_t max_entries_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  RecentlyUsed<Entry> entries_;
};

}  // namespace metafuse::service
