#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// Requests that wait for one of an engine's connections, and who has the connections. Senders are served in
/// turn, so that one sender's many requests make only its own wait. While several senders use the engine, a
/// quarter of the connections are kept free of any single one, so that the others need not even wait for one
/// of its requests to end.
///
/// Not thread-safe: it belongs to the transport's worker.
///
/// in:     Item - a request; it is moved
/// cost:   each function is linear in the senders that have requests here
template <class Item>
class SenderTurns {
 public:
  void push(const std::string& sender, Item item, TimePoint now) {
    if (sender != last_sender_) {
      if (has_sender_) shared_until_ = now + kStaysShared;
      has_sender_ = true;
      last_sender_ = sender;
    }
    Own* own = find(sender);
    if (own == nullptr) own = &senders_.emplace_back(Own{sender, 0, {}});
    own->waiting.push_back({++pushed_, std::move(item)});
  }

  std::size_t waiting_of(const std::string& sender) {
    const Own* own = find(sender);
    return own == nullptr ? 0 : own->waiting.size();
  }
  bool has_waiting() const {
    return std::any_of(senders_.begin(), senders_.end(), [](const Own& own) { return !own.waiting.empty(); });
  }

  /// Takes the request whose turn it is: of the senders that may have one more connection, the one that has
  /// fewest, at a tie the one that waits longest. It is under way until end(). nullopt if none may start.
  ///
  /// in:     connections - of the engine, at least 1
  std::optional<Item> take(int connections, TimePoint now) {
    Own* own = own_next(connections, most_of_one(connections, now));
    if (own == nullptr) return std::nullopt;
    std::optional<Item> item = std::move(own->waiting.front().item);
    own->waiting.pop_front();
    ++own->under_way;
    return item;
  }
  /// When take() will have a request without any other ending before: `now` if it has one already.
  TimePoint next_turn(int connections, TimePoint now) {
    if (own_next(connections, most_of_one(connections, now)) != nullptr) return now;
    return own_next(connections, connections) != nullptr ? shared_until_ : TimePoint::max();
  }
  void end(const std::string& sender) {
    Own* own = find(sender);
    --own->under_way;
    forget_if_idle(*own);
  }

  /// The request of each sender that has waited longest.
  std::vector<const Item*> first_of_each() const {
    std::vector<const Item*> out;
    for (const Own& own : senders_)
      if (!own.waiting.empty()) out.push_back(&own.waiting.front().item);
    return out;
  }
  /// Takes the waiting requests that need not be sent any more.
  ///
  /// in:     is_late - of a sender's requests only the foremost are asked about
  template <class IsLate>
  std::vector<Item> take_late(const IsLate& is_late) {
    std::vector<Item> out;
    for (std::size_t i = senders_.size(); i-- > 0;) {
      auto& waiting = senders_[i].waiting;
      for (; !waiting.empty() && is_late(waiting.front().item); waiting.pop_front())
        out.push_back(std::move(waiting.front().item));
      forget_if_idle(senders_[i]);
    }
    return out;
  }

 private:
  /// For so long after another sender's request, an engine counts as used by several.
  static constexpr std::chrono::seconds kStaysShared{1};

  struct Waiting {
    std::size_t order;
    Item item;
  };
  struct Own {
    std::string sender;
    int under_way;
    std::deque<Waiting> waiting;
  };

  Own* find(const std::string& sender) {
    const auto at =
        std::find_if(senders_.begin(), senders_.end(), [&](const Own& own) { return own.sender == sender; });
    return at == senders_.end() ? nullptr : &*at;
  }

  int most_of_one(int connections, TimePoint now) const {
    return now < shared_until_ ? std::max(1, connections - (connections + 3) / 4) : connections;
  }

  Own* own_next(int connections, int most_of_one) {
    int under_way = 0;
    Own* next = nullptr;
    const auto place = [](const Own& own) { return std::pair(own.under_way, own.waiting.front().order); };
    for (Own& own : senders_) {
      under_way += own.under_way;
      if (own.waiting.empty() || own.under_way >= most_of_one) continue;
      if (next == nullptr || place(own) < place(*next)) next = &own;
    }
    return under_way < connections ? next : nullptr;
  }

  void forget_if_idle(Own& own) {
    if (own.under_way > 0 || !own.waiting.empty()) return;
    if (&own != &senders_.back()) own = std::move(senders_.back());
    senders_.pop_back();
  }

  std::vector<Own> senders_;  ///< with requests here; few, so that linear searches suffice
  std::size_t pushed_ = 0;
  std::string last_sender_;
  bool has_sender_ = false;
  TimePoint shared_until_{};
};

}  // namespace metafuse::fetchers
