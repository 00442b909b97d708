#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "fetchers/definition/engine.h"
#include "fetchers/fetcher.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

struct LearnedWaitOptions {
  bool is_on = true;
  Duration floor = std::chrono::milliseconds(150);
  Duration ceiling = std::chrono::seconds(10);

  friend bool operator==(const LearnedWaitOptions&, const LearnedWaitOptions&) = default;
};

/// What all engines of one process share.
struct FetcherOptions {
  enum class Recording { off, record, replay };

  const Clock* clock = nullptr;              ///< nullptr: the machine's clock; must outlive the fetcher
  std::vector<std::string> allow_private{};  ///< host:port that every engine may reach
  Recording recording = Recording::off;
  std::string recording_file{};  ///< archive.har, written by `record`, read by `replay`
  std::function<std::optional<std::string>(std::string_view name)> secret_of{};  ///< the value of "${name}"
  std::vector<std::string> own_addresses{};  ///< host:port of this server: federation must not reach it
  /// Put around what sends HTTP requests: to watch them, or to answer in a test.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap_transport{};
  ReachOfName
      reach_of_name{};  ///< who is behind a definition's host when it is loaded; empty: the machine's resolver
  std::function<std::int64_t()> unix_time{};  ///< for signatures; empty: the machine's clock
  bool uses_breaker = true;                   ///< leaves engines alone that failed several times
  LearnedWaitOptions learned_wait{};          ///< waits no longer for an engine than its recent answers say
  TrackingParameters tracking = default_tracking_parameters();  ///< for the keys of hits
};

/// The fetcher of a set of engines: each expanded query goes to the engine that it names. A recording is made
/// with every list waited for until the deadline; a replay has neither breaker nor learned waits, so that it
/// depends on nothing but the recording.
///
/// errors: bad_config: a secret that is not set (says which), a bad allow_private; no_input or bad_data: a
///         recording that cannot be read
/// cost:   one thread for all HTTP engines; nothing is sent before the first fetch
Result<std::shared_ptr<Fetcher>> make_fetcher(std::vector<Engine> engines, FetcherOptions options = {});

}  // namespace metafuse::fetchers
