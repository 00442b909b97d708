#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"

namespace metafuse::service {

/// Work that waits for a thread, served in turns by whom it came from: whoever sends a crowd of requests
/// waits behind it, everybody else does not (fair queueing, Nagle 1987). With one sender it is first come,
/// first served.
///
/// Not safe for threads: WorkerPool holds its lock.
class FairLine {
 public:
  struct Item {
    std::function<void()> work;
    std::function<void()> give_up;
    TimePoint since;
    std::string owner;  ///< whose work it is: a key or an address prefix
  };

  void push(Item item);
  /// The oldest item of the owner with the least running, of several the one whose last turn is longest ago.
  /// It runs until `note_end`. The line must not be empty.
  ///
  /// cost: linear in the owners that have work here
  Item take();
  void note_end(std::string_view owner);
  /// The oldest item of all, to be given up. The line must not be empty.
  Item take_oldest();
  TimePoint oldest_since() const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// One more item of `owner`, and what runs or would be taken before it: of each other owner no more items
  /// than this one would have.
  std::size_t turns_for(std::string_view owner) const;

 private:
  struct Owner {
    std::string name;
    std::size_t running = 0;
    std::uint64_t last_turn = 0;  ///< 0 before the first
    std::deque<Item> waiting;

    std::size_t items() const { return running + waiting.size(); }
  };

  Owner& owner(const std::string& name);
  Item take_front(Owner& from);
  void forget_idle(std::size_t index);

  std::vector<Owner> owners_;  ///< those with work that runs or waits: few, so they are looked through
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace metafuse::service
