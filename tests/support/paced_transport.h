#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/support/scripted_transport.h"

namespace metafuse::test {

/// Engines that take time to answer with one result: time passes only while somebody waits, so that a test
/// takes none itself and its figures are exact.
class PacedTransport final : public fetchers::Transport {
 public:
  /// How long an engine takes; nullopt: it never answers.
  using Pace = std::function<std::optional<Duration>(const fetchers::EngineRequest&)>;

  PacedTransport(ManualClock& clock, Pace pace) : clock_(clock), pace_(std::move(pace)) {}

  void send(fetchers::EngineRequest request, Done done) override {
    const auto takes = pace_(request);
    if (takes) owed_.emplace_back(clock_.now() + *takes, std::move(done));
  }
  bool begin_wait(bool) override { return true; }
  bool work(TimePoint until, const std::function<bool()>& has_news) override {
    if (has_news()) return true;
    const auto next = std::min_element(owed_.begin(), owed_.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool is_answer = next != owed_.end() && next->first <= until;
    clock_.advance(std::max(Duration(0), (is_answer ? next->first : until) - clock_.now()));
    if (!is_answer) return true;
    const Done done = std::move(next->second);
    owed_.erase(next);
    done(answer_of(kOneResult));
    return true;
  }

 private:
  ManualClock& clock_;
  Pace pace_;
  std::vector<std::pair<TimePoint, Done>> owed_;
};

inline fetchers::FetcherOptions paced_options(ManualClock& clock, PacedTransport::Pace pace) {
  fetchers::FetcherOptions options;
  options.clock = &clock;
  options.run_late = run_at_once;
  options.reach_of_name = [](const std::string&) { return fetchers::Reach::everyone; };
  options.wrap_transport = [&clock, pace = std::move(pace)](std::unique_ptr<fetchers::Transport>) {
    return std::make_unique<PacedTransport>(clock, pace);
  };
  return options;
}

}  // namespace metafuse::test
