#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/workers/load_control.h"

namespace metafuse::service {

/// How many items may run at once.
struct Room {
  std::size_t of_one;    ///< of any single owner
  std::size_t of_calm;   ///< of all owners that are no crowd, together
  std::size_t of_crowd;  ///< of all owners that are a crowd, together
};

/// A queue of work for threads that serves the owners of the work in turn: an owner that sends a crowd of
/// requests waits for them itself, the other owners do not (fair queueing, Nagle 1987). With one owner it is
/// first come, first served.
///
/// Each owner with work here has its own AdmissionControl. The owner is a crowd while that refuses more than
/// it admits. Crowds have places of their own (Room::of_crowd), so that they take neither turns nor places
/// from others.
///
/// Not thread-safe: WorkerPool locks its mutex around every call.
class FairLine {
 public:
  struct Item {
    std::function<void()> work;
    std::function<void()> give_up;
    TimePoint since;
    std::string owner;  ///< whose work it is: a key or an address prefix
  };

  void push(Item item);
  /// How many of the waiting items may run now.
  ///
  /// cost: linear in the owners that have work here or were refused recently
  std::size_t ready(const Room& room, TimePoint now) const;
  /// Takes the oldest item of the owner with the fewest running items; at a tie, of the owner whose last turn
  /// is longest ago. The item counts as running until note_end(). Requires that one is ready.
  ///
  /// cost: as ready()
  Item take(const Room& room, TimePoint now);
  void note_end(std::string_view owner);
  /// Takes the oldest item of all, to be given up. Requires a line that is not empty.
  Item take_oldest();
  TimePoint oldest_since() const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The number of turns until one more item of `owner` would have had its own: all of its items, and of each
  /// other owner that shares its places at most as many.
  std::size_t turns_for(std::string_view owner, TimePoint now) const;
  /// The admission control for one more item of `owner`; nullptr if it has no items here.
  AdmissionControl* admission(std::string_view owner);
  bool is_crowd(std::string_view owner, TimePoint now) const;
  void forget_refusals();

 private:
  struct Owner {
    std::string name;
    std::size_t running = 0;
    std::uint64_t last_turn = 0;  ///< 0 before the first
    std::deque<Item> waiting;
    AdmissionControl admission;

    std::size_t items() const { return running + waiting.size(); }
  };
  /// At most this many owners without items here are remembered for their refusals.
  static constexpr std::size_t kMostRemembered = 128;

  Owner* find(std::string_view name);
  const Owner* find(std::string_view name) const { return const_cast<FairLine*>(this)->find(name); }
  Owner& owner(const std::string& name, TimePoint now);
  void forget_idle(TimePoint now);
  Item take_front(Owner& from);
  Room free_places(const Room& room, TimePoint now) const;

  std::vector<Owner>
      owners_;  ///< owners with work here or refused recently; few, so that linear searches suffice
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace metafuse::service
