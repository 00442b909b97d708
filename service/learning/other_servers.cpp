#include "service/learning/other_servers.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/digest.h"

namespace metafuse::service {
namespace {

/// How long after a server's death another one takes the caretaker's duty.
constexpr std::int64_t kDutySeconds = 6;
constexpr std::chrono::seconds kBetweenDutyLooks{2};

/// A machine's clock that differs by more than this from the database's gets a warning.
constexpr std::int64_t kNotableSkewMs = 5000;

}  // namespace

OtherServers::OtherServers(Records& records, Telemetry& telemetry, const Clock& clock)
    : records_(records),
      telemetry_(telemetry),
      clock_(clock),
      server_id_(random_hex(16)),
      duty_until_(records.mirror == nullptr ? TimePoint::max() : TimePoint::min()) {}

void OtherServers::listen(std::function<void()> on_news) {
  news_ = records_.store->shared.listen(std::move(on_news));
}

void OtherServers::look_at_duty() {
  const TimePoint now = clock_.now();
  if (now < next_duty_look_) return;
  next_duty_look_ = now + kBetweenDutyLooks;
  const auto is_held = records_.store->shared.hold_task("care", server_id_, kDutySeconds);
  if (is_held) duty_until_ = *is_held ? now + std::chrono::seconds(kDutySeconds) : TimePoint::min();
  telemetry_.metrics.set("metafuse_has_duty", has_duty() ? 1 : 0);
  telemetry_.metrics.set("metafuse_listens", is_told_ ? 1 : 0);
  look_at_clock();
}

void OtherServers::look_at_clock() {
  if (records_.clock == nullptr || !records_.clock->adjust()) return;
  const std::int64_t ahead = records_.clock->machine_ahead_ms();
  telemetry_.metrics.set("metafuse_clock_ahead_seconds", static_cast<double>(ahead) / 1000);
  const bool is_notable = std::abs(ahead) > kNotableSkewMs;
  if (is_notable && !is_clock_off_)
    telemetry_.log.write(Log::Level::warning,
                         "this machine's clock differs from the database's, which counts",
                         {{"ahead_ms", ahead}});
  is_clock_off_ = is_notable;
}

bool OtherServers::look() {
  is_told_ = news_ != nullptr && news_->is_listening();
  look_at_duty();
  const auto changes = records_.mirror->step();
  if (std::exchange(is_store_heard_, changes.has_value()) && !changes)
    telemetry_.log.write(Log::Level::warning, "shared files not looked at",
                         {{"reason", changes.error().text}});
  if (!changes) return false;
  note(*changes);
  return !changes->taken.empty();
}

void OtherServers::note(const Mirror::Changes& changes) {
  for (const std::string& name : changes.taken)
    telemetry_.log.write(Log::Level::info, "taken from the store", {{"file", name}});
  for (const std::string& path : changes.set_aside)
    telemetry_.log.write(Log::Level::warning, "changed here and in the store; the store's is used",
                         {{"kept", path}});
}

}  // namespace metafuse::service
