#include "fetchers/calling/patience.h"

#include <algorithm>
#include <utility>

namespace metafuse::fetchers {
namespace {

Duration a_little_more(Duration usual) {
  return usual * 21 / 20;
}

/// The smallest of the ascending times that at least this share of them does not exceed.
Duration percentile(const std::vector<Duration>& times, std::size_t percent) {
  return times[(times.size() * percent + 99) / 100 - 1];
}

}  // namespace

Patience::Patience(std::size_t lists, TimePoint start, TimePoint deadline, const LearnedWaitOptions& options,
                   std::string sender)
    : start_(start), deadline_(deadline), options_(options), sender_(std::move(sender)), waits_(lists) {}

void Patience::ask(std::size_t i, EngineState* engine) {
  Wait& wait = waits_[i];
  wait = {
      .engine = engine, .is_asked = true, .is_missing = true, .until = deadline_, .usual_until = deadline_};
  if (engine == nullptr || !options_.is_on) return;
  {
    const std::lock_guard lock(engine->mutex);
    if (const auto limit = engine->learned_wait.limit(sender_, options_))
      wait.until = std::min(deadline_, start_ + *limit);
  }
  const HttpAccess& access = engine->http->access;
  const bool takes_steps = !access.steps.empty();  // and with them any number of requests
  if (engine->others.empty() || !access.hedges || takes_steps) return;
  const auto times = usual_times(wait);
  if (times.empty()) return;
  wait.hedge_at = start_ + percentile(times, 95) * 6 / 5;
  wait.median = percentile(times, 50);
}

void Patience::end(std::size_t i, bool has_list, bool has_hits) {
  waits_[i].is_missing = false;
  waits_[i].has_list = has_list;
  has_hits_ = has_hits_ || has_hits;
}

std::vector<Duration> Patience::usual_times(const Wait& wait) const {
  const std::lock_guard lock(wait.engine->mutex);
  return wait.engine->learned_wait.usual(sender_);
}

bool Patience::are_most_there() const {
  const auto asked =
      std::count_if(waits_.begin(), waits_.end(), [](const Wait& wait) { return wait.is_asked; });
  const auto there = std::count_if(waits_.begin(), waits_.end(),
                                   [](const Wait& wait) { return wait.is_asked && wait.has_list; });
  return options_.is_on && 4 * there >= 3 * asked;
}

void Patience::learn_usual() {
  is_usual_known_ = true;
  std::vector<std::vector<Duration>> times;
  std::vector<Wait*> known;
  for (Wait& wait : waits_) {
    if (!wait.is_asked || wait.engine == nullptr) continue;
    auto own = usual_times(wait);
    if (own.empty()) continue;
    times.push_back(std::move(own));
    known.push_back(&wait);
  }
  if (known.empty()) return;
  const Duration all = usual_of_slowest(times);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Duration usual = std::max(all, percentile(times[i], 90));
    known[i]->usual_until =
        std::min(known[i]->until, start_ + std::max(options_.floor, a_little_more(usual)));
  }
}

TimePoint Patience::last_of(bool is_usual_enough) const {
  TimePoint end = start_;
  for (const Wait& wait : waits_)
    if (wait.is_missing) end = std::max(end, is_usual_enough ? wait.usual_until : wait.until);
  return end;
}

TimePoint Patience::likely_end() {
  if (!has_hits_) return deadline_;
  if (!are_most_there()) return last_of(false);
  if (!is_usual_known_) learn_usual();
  return last_of(true);
}

TimePoint Patience::end_of_wait(TimePoint now) {
  // most searches have ended by then, and need not find out what is usual
  const TimePoint soonest = start_ + options_.floor;
  if (has_hits_ && now < soonest && are_most_there()) return std::min(soonest, last_of(false));
  return likely_end();
}

bool Patience::is_limited_by_usual(std::size_t i) const {
  return std::min(waits_[i].until, waits_[i].usual_until) < deadline_;
}

std::optional<TimePoint> Patience::hedge_at(std::size_t i) const {
  return waits_[i].is_missing ? waits_[i].hedge_at : std::nullopt;
}

bool Patience::is_hedge_worth(std::size_t i, TimePoint now) {
  waits_[i].hedge_at.reset();
  return now + waits_[i].median <= likely_end();
}

}  // namespace metafuse::fetchers
