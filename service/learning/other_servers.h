#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/deadline.h"
#include "service/base/traces.h"
#include "service/learning/records.h"

namespace metafuse::service {

/// What a server has to do with the other servers of its store: it takes over the files that they changed,
/// and shares the caretaker's duty with them. One server of the store retrains and removes old data for all.
/// look() is only for the reloader's thread; is_told() and has_duty() are safe from any thread.
class OtherServers {
 public:
  OtherServers(Records& records, Telemetry& telemetry, const Clock& clock);
  OtherServers(const OtherServers&) = delete;
  OtherServers& operator=(const OtherServers&) = delete;

  /// Whether other servers may use the store. Without them there is nothing to look at or listen to.
  bool can_change_files() const { return records_.mirror != nullptr; }
  /// Calls back, on a thread of its own, when the store tells of a change.
  void listen(std::function<void()> on_news);
  /// Stops listening.
  void stop() { news_.reset(); }

  /// Takes over files that other servers changed, and renews or takes the duty.
  ///
  /// out: whether a file here changed
  bool look();
  /// Logs what was taken over.
  void note(const Mirror::Changes& changes);
  /// Whether the store notifies us of changes.
  bool is_told() const { return is_told_; }
  bool has_duty() const { return clock_.now() < duty_until_.load(); }

 private:
  /// Renews or takes the caretaker's duty, and asks the database for the time. The duty also ends by this
  /// server's own clock, because a database that no longer answers may have given it to another server.
  void look_at_duty();
  void look_at_clock();

  Records& records_;
  Telemetry& telemetry_;
  const Clock& clock_;
  const std::string server_id_;
  TimePoint next_duty_look_{};
  std::atomic<TimePoint> duty_until_;  ///< max() while no other server uses the store
  std::atomic<bool> is_told_ = false;
  bool is_store_heard_ = true;
  bool is_clock_off_ = false;
  std::unique_ptr<Listener> news_;
};

}  // namespace metafuse::service
