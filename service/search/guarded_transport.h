#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/url.h"
#include "fetchers/http/transport.h"

namespace metafuse::service {

/// The transport of PageReader and PictureReader. It uses the engines' guard, which checks every socket and
/// every redirect. It is created with the first request, so that a server that reads nothing has none. Safe
/// from any thread.
class GuardedTransport {
 public:
  /// Applies from the next request on.
  ///
  /// in: allow_private - HOST:PORT that may be reached although not public; the configuration has
  ///     checked them
  void set_allowed(std::vector<std::string> allow_private);
  std::shared_ptr<fetchers::Transport> get();

 private:
  std::mutex mutex_;
  std::vector<std::string> allow_private_;
  std::shared_ptr<fetchers::Transport> transport_;
};

/// Makes a request that names this program. Hosts share 1,024 lanes: one per host would let clients create
/// any number of them.
///
/// in:     what - prefix of the lane's name; accept - the media types that are asked for
fetchers::EngineRequest guarded_request(const std::string& what, std::string url, const UrlParts& parts,
                                        std::string accept);

/// Sends the requests together and waits for all answers, at most a second longer than the longest timeout.
/// Whatever has not answered by then has failed with Failure::timeout.
std::vector<fetchers::HttpAnswer> answers_to(fetchers::Transport& transport,
                                             std::vector<fetchers::EngineRequest> requests);

/// Adds to a count of what is under way for as long as it lives. `before` is the count without it.
struct UnderWay {
  explicit UnderWay(std::atomic<std::size_t>& all) : before(all.fetch_add(1)), all_(all) {}
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { --all_; }

  const std::size_t before;

 private:
  std::atomic<std::size_t>& all_;
};

}  // namespace metafuse::service
