#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace metafuse::fetchers {

struct FetcherState;
class Transport;

/// The fetchers that a process has made, as far as they are still in use. A server makes a new one whenever
/// its configuration is loaded again. An engine with the same definition is then left alone for as long as it
/// asked, and waited for as long as is usual; tokens, of which a server may have replaced the first, are kept
/// as long as `auth` is the same. So is what is known of an embedding endpoint with the same definition, with
/// the vectors that it computed. Thread-safe.
class EarlierFetchers {
 public:
  /// Hands what the latest fetcher knows on to a new one that nobody uses yet.
  void hand_on(const std::shared_ptr<FetcherState>& to);
  /// The transport for tokens of the latest fetcher; nullptr if there is none.
  std::shared_ptr<Transport> token_transport();

 private:
  /// The newest that is still in use; one of a configuration that was refused is not. Requires the lock.
  std::shared_ptr<FetcherState> latest();

  std::mutex mutex_;
  std::vector<std::weak_ptr<FetcherState>> states_;  ///< the oldest first
};

}  // namespace metafuse::fetchers
