#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "fetchers/calling/engine_state.h"

namespace metafuse::fetchers {

/// How long one search waits for its lists. While there is no result at all, it waits until its deadline.
/// Then it waits for each missing list as long as the engine's learned wait says; while it waits for one of
/// them, the others may come too. Once three quarters of the lists are there, it waits for the rest only a
/// little longer than such searches usually take, and than the missing engines usually do. Not thread-safe;
/// it locks the states of engines.
class Patience {
 public:
  Patience(std::size_t lists, TimePoint start, TimePoint deadline, const LearnedWaitOptions& options,
           std::string sender);

  /// The i-th list is on its way.
  ///
  /// in:     engine - behind HTTP; nullptr: another one, which is waited for until the deadline
  void ask(std::size_t i, EngineState* engine);
  void end(std::size_t i, bool has_list, bool has_hits);

  /// When the search leaves without what is missing; never after the deadline. It may have to be asked again
  /// at that time.
  TimePoint end_of_wait(TimePoint now);
  /// Whether the i-th list would be waited for longer if the engine usually took longer.
  bool is_limited_by_usual(std::size_t i) const;

  /// When the i-th list is later than usual and another instance should be asked; nullopt for a list that is
  /// there, and for engines that are not hedged or whose response times are not known.
  std::optional<TimePoint> hedge_at(std::size_t i) const;
  /// Whether another instance, if asked now, usually answers before the search leaves. Asked once per list:
  /// afterwards hedge_at() has none.
  bool is_hedge_worth(std::size_t i, TimePoint now);

 private:
  struct Wait {
    EngineState* engine = nullptr;
    bool is_asked = false;
    bool is_missing = false;
    bool has_list = false;
    TimePoint until{};        ///< by the engine's learned wait
    TimePoint usual_until{};  ///< once most lists are there
    std::optional<TimePoint> hedge_at{};
    Duration median{};  ///< of the engine's response times, if hedge_at is set
  };

  std::vector<Duration> usual_times(const Wait& wait) const;
  bool are_most_there() const;
  void learn_usual();
  TimePoint last_of(bool is_usual_enough) const;
  TimePoint likely_end();

  const TimePoint start_, deadline_;
  const LearnedWaitOptions options_;
  const std::string sender_;
  std::vector<Wait> waits_;
  bool has_hits_ = false;
  bool is_usual_known_ = false;
};

}  // namespace metafuse::fetchers
