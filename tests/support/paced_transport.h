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

/// Engines that take time to answer, with one result unless the test says otherwise: time passes only while
/// somebody waits, so that a test takes none itself and its figures are exact.
class PacedTransport final : public fetchers::Transport {
 public:
  /// How long an engine takes; nullopt: it never answers.
  using Pace = std::function<std::optional<Duration>(const fetchers::EngineRequest&)>;

  using Answer = std::function<fetchers::HttpAnswer(const fetchers::EngineRequest&)>;

  PacedTransport(ManualClock& clock, Pace pace, Answer answer)
      : clock_(clock), pace_(std::move(pace)), answer_(std::move(answer)) {}

  void send(fetchers::EngineRequest request, Done done) override {
    const auto takes = pace_(request);
    const auto answer = answer_ ? answer_(request) : answer_of(kOneResult);
    if (takes) owed_.emplace_back(clock_.now() + *takes, [done = std::move(done), answer] { done(answer); });
  }
  bool begin_wait(bool) override { return true; }
  bool work(TimePoint until, const std::function<bool()>& has_news) override {
    if (has_news()) return true;
    const auto next = std::min_element(owed_.begin(), owed_.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool is_answer = next != owed_.end() && next->first <= until;
    clock_.advance(std::max(Duration(0), (is_answer ? next->first : until) - clock_.now()));
    if (!is_answer) return true;
    const auto answers = std::move(next->second);
    owed_.erase(next);
    answers();
    return true;
  }

 private:
  ManualClock& clock_;
  Pace pace_;
  Answer answer_;
  std::vector<std::pair<TimePoint, std::function<void()>>> owed_;
};

inline fetchers::FetcherOptions paced_options(ManualClock& clock, PacedTransport::Pace pace,
                                              PacedTransport::Answer answer = {}) {
  fetchers::FetcherOptions options;
  options.clock = &clock;
  options.run_late = run_at_once;
  options.reach_of_name = [](const std::string&) { return fetchers::Reach::everyone; };
  options.wrap_transport = [&clock, pace = std::move(pace),
                            answer = std::move(answer)](std::unique_ptr<fetchers::Transport>) {
    return std::make_unique<PacedTransport>(clock, pace, answer);
  };
  return options;
}

}  // namespace metafuse::test
