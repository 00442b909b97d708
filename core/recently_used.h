#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace metafuse {

/// Values by name, in the order of their last use; what bounds them removes the oldest. Not for several
/// threads at once.
///
/// cost: a look-up, and moving what was found to the front
template <class Value>
class RecentlyUsed {
 public:
  struct Entry {
    std::string key;
    Value value;
  };

  /// The value, which is used now; nullptr when there is none. Valid until it is removed.
  Value* use(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->value;
  }

  /// The same without using it.
  Value* peek(std::string_view key) {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &at->second->value;
  }
  const Value* peek(std::string_view key) const {
    const auto at = index_.find(key);
    return at == index_.end() ? nullptr : &at->second->value;
  }

  /// Adds a value as the last used one, in the place of one of the same name.
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

  /// The one whose last use is longest ago; there must be one.
  const Value& oldest() const { return order_.back().value; }
  std::size_t size() const { return order_.size(); }
  /// Entries, last used first.
  auto begin() { return order_.begin(); }
  auto end() { return order_.end(); }

 private:
  using Place = typename std::list<Entry>::iterator;

  std::list<Entry> order_;
  std::unordered_map<std::string_view, Place> index_;  ///< names are the entries'
};

}  // namespace metafuse
