#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "core/keyed_hash.h"

namespace metafuse {

/// A map that remembers the order in which its entries were last used, for caches: the owner enforces a bound
/// by removing the oldest entries. A plain value, not thread-safe.
///
/// cost:   per use, one hash look-up and a move to the front of a list; a copy is linear
template <class Value>
class RecentlyUsed {
 public:
  struct Entry {
    std::string key;
    Value value;
  };

  RecentlyUsed() = default;
  RecentlyUsed(const RecentlyUsed& other) : order_(other.order_) {
    for (auto at = order_.begin(); at != order_.end(); ++at) index_.emplace(at->key, at);
  }
  RecentlyUsed(RecentlyUsed&&) = default;
  RecentlyUsed& operator=(RecentlyUsed other) {
    order_.swap(other.order_);
    index_.swap(other.index_);
    return *this;
  }
  ~RecentlyUsed() = default;

  /// Finds a value and marks it as just used; nullptr when there is none. The pointer is valid until the
  /// entry is removed.
  Value* use(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->value;
  }

  /// Finds a value without marking it as used.
  Value* peek(std::string_view key) {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &at->second->value;
  }
  const Value* peek(std::string_view key) const {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &at->second->value;
  }

  /// Adds a value as the most recently used one, replacing an entry of the same name.
  Value& put(std::string key, Value value) {
    remove(key);
    order_.push_front({std::move(key), std::move(value)});
    index_.emplace(order_.front().key, order_.begin());
    return order_.front().value;
  }

  void remove(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return;
    const auto entry = at->second;
    index_.erase(at);
    order_.erase(entry);
  }
  void remove_oldest() {
    index_.erase(order_.back().key);
    order_.pop_back();
  }
  void clear() {
    index_.clear();
    order_.clear();
  }

  /// The value whose last use is longest ago. Requires size() > 0.
  const Value& oldest() const { return order_.back().value; }
  std::size_t size() const { return order_.size(); }
  /// Entries, most recently used first.
  auto begin() { return order_.begin(); }
  auto end() { return order_.end(); }

 private:
  using Place = typename std::list<Entry>::iterator;

  std::list<Entry> order_;
  TextViewMap<Place> index_;  ///< the keys point into the entries
};

}  // namespace metafuse
