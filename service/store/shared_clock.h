#pragma once

#include <atomic>
#include <cstdint>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The time of the store's database. All servers of one store use it instead of their machines' clocks, for
/// the days of salts and quotas and the ages of searches and clicks. The database is asked from time to time;
/// in between, and while it is unreachable, the steady clock continues from its last answer. Safe from
/// any thread.
class SharedClock {
 public:
  /// `store` and `clock` must outlive it. Until the first adjust() it gives the machine's time.
  SharedClock(Store& store, const Clock& clock);

  /// Asks the database for its time.
  ///
  /// errors: those of the store; then the time continues as before
  Result<void> adjust();
  /// Seconds since 1970.
  UnixTime now() const;
  /// By how many milliseconds the machine's clock is ahead of the database's, as of the last adjust().
  std::int64_t machine_ahead_ms() const { return machine_ahead_ms_; }

 private:
  std::int64_t steady_ms() const;

  Store& store_;
  const Clock& clock_;
  std::atomic<std::int64_t> shift_ms_;  ///< offset from the steady clock to the time since 1970
  std::atomic<std::int64_t> machine_ahead_ms_{0};
};

/// The machine's time in milliseconds since 1970.
std::int64_t machine_milliseconds();

}  // namespace metafuse::service
