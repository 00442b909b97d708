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
#include "fetchers/calling/fetcher.h"
#include "fetchers/calling/learned_wait.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/hostname_rules.h"

namespace metafuse::fetchers {

class EarlierFetchers;

/// Options that all engines of one process share.
struct FetcherOptions {
  enum class Recording { off, record, replay };

  const Clock* clock = nullptr;              ///< nullptr: the machine's clock; must outlive the fetcher
  std::vector<std::string> allow_private{};  ///< host:port pairs that every engine may connect to
  Recording recording = Recording::off;
  std::string recording_file{};  ///< archive.har, written by `record`, read by `replay`
  std::function<std::optional<std::string>(std::string_view name)> secret_of{};  ///< the value of "${name}"
  std::vector<std::string> own_addresses{};  ///< host:port of this server, for federation to avoid
  /// Wraps the transport, and the one for tokens, to observe HTTP requests or to answer them in a test.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap_transport{};
  /// Finds out, when a definition is loaded, whether its host is private; empty: the machine's resolver.
  ReachOfName reach_of_name{};
  std::function<std::int64_t()> unix_time{};  ///< for signatures and dates; empty: the machine's clock
  bool uses_breaker = true;                   ///< leaves an engine alone after several failures
  /// Does work on answers that nobody waits for any more, or drops it, before the fetcher ends. For tests;
  /// empty: a thread of the fetcher's own.
  std::function<void(std::function<void()> work)> run_late{};
  LearnedWaitOptions learned_wait{};  ///< limits the wait for an engine by its recent response times
  HostnameRules hostnames{};          ///< for the results of every engine
  TrackingParameters tracking = default_tracking_parameters();  ///< parameters to ignore in the keys of hits
  /// From whose latest the fetcher takes over what is known of its engines; empty: it begins anew.
  std::shared_ptr<EarlierFetchers> earlier{};
};

/// The fetcher of a set of engines; each expanded query goes to the engine that it names. While recording,
/// every list is waited for until the deadline. A replay uses neither breakers nor learned waits, so that it
/// depends on the recording only.
///
/// errors: bad_config: a secret that is not set (named in the error), an invalid allow_private; no_input or
///         bad_data: a recording that cannot be read
/// cost:   one thread for all HTTP engines, and one for their tokens; nothing is sent before the first fetch
Result<std::shared_ptr<Fetcher>> make_fetcher(std::vector<Engine> engines, FetcherOptions options = {});

}  // namespace metafuse::fetchers
