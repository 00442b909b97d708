#pragma once

#include <atomic>
#include <cstdint>

#include "core/deadline.h"
#include "core/result.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The time of the store's database, which servers of one store agree on whatever their machines' clocks say:
/// days of salts and quotas, the ages of searches and clicks. It is asked from time to time; in between, and
/// while the database is away, the steady clock goes on from its last word. From any thread.
class SharedClock {
 public:
  /// `store` and `clock` must outlive it. Until the first adjust() it is the machine's time.
  SharedClock(Store& store, const Clock& clock);

  /// Asks the database.
  ///
  /// errors: those of the store; then the time goes on as before
  Result<void> adjust();
  /// Seconds since 1970.
  UnixTime now() const;
  /// By how many milliseconds the machine's clock is ahead of the database's, as of the last adjust().
  std::int64_t machine_ahead_ms() const { return machine_ahead_ms_; }

 private:
  std::int64_t steady_ms() const;

  Store& store_;
  const Clock& clock_;
  std::atomic<std::int64_t> shift_ms_;  ///< from the steady clock to 1970
  std::atomic<std::int64_t> machine_ahead_ms_{0};
};

/// The machine's time in milliseconds since 1970.
std::int64_t machine_milliseconds();

}  // namespace metafuse::service
