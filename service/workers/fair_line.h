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

/// How much work may run at once.
struct Room {
  std::size_t of_one;    ///< of any one owner's work
  std::size_t of_calm;   ///< of that whose owners make no crowd, in all
  std::size_t of_crowd;  ///< of that whose owners make one, in all
};

/// Work that waits for a thread, served in turns by whom it came from: whoever sends a crowd of requests
/// waits behind it, everybody else does not (fair queueing, Nagle 1987). With one sender it is first come,
/// first served.
///
/// Each owner that has work here has an AdmissionControl of its own. It makes a crowd while that refuses more
/// than it admits. What makes a crowd runs in a room of its own, so that it takes neither turns nor places
/// of anybody else.
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
  /// How many of the items that wait may run now.
  ///
  /// cost: linear in the owners that have work here or were refused lately
  std::size_t ready(const Room& room, TimePoint now) const;
  /// The oldest item of the owner with the least running, of several the one whose last turn is longest ago.
  /// It runs until `note_end`. At least one must be ready.
  ///
  /// cost: as of `ready`
  Item take(const Room& room, TimePoint now);
  void note_end(std::string_view owner);
  /// The oldest item of all, to be given up. The line must not be empty.
  Item take_oldest();
  TimePoint oldest_since() const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// One more item of `owner`, and what runs or would be taken before it in the same room: of each other one
  /// no more items than this one would have.
  std::size_t turns_for(std::string_view owner, TimePoint now) const;
  /// Who judges one more item of `owner`; null when it has none here.
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
  /// Refusals of so many owners that have nothing here are remembered.
  static constexpr std::size_t kMostRemembered = 128;

  Owner* find(std::string_view name);
  const Owner* find(std::string_view name) const { return const_cast<FairLine*>(this)->find(name); }
  Owner& owner(const std::string& name, TimePoint now);
  void forget_idle(TimePoint now);
  Item take_front(Owner& from);
  Room free_places(const Room& room, TimePoint now) const;

  std::vector<Owner>
      owners_;  ///< those with work here and those refused lately: few, so they are looked through
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace metafuse::service
