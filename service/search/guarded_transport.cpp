#include "service/search/guarded_transport.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <utility>

#include "core/contract.h"
#include "core/keyed_hash.h"
#include "service/base/process.h"

namespace metafuse::service {

void GuardedTransport::set_allowed(std::vector<std::string> allow_private) {
  const std::lock_guard lock(mutex_);
  allow_private_ = std::move(allow_private);
  transport_.reset();
}

std::shared_ptr<fetchers::Transport> GuardedTransport::get() {
  const std::lock_guard lock(mutex_);
  if (transport_ == nullptr) {
    auto guard = fetchers::AddressGuard::make(allow_private_);
    require(guard.has_value(), "the configuration was checked");
    transport_ = fetchers::make_curl_transport(std::move(*guard));
  }
  return transport_;
}

fetchers::EngineRequest guarded_request(const std::string& what, std::string url, const UrlParts& parts,
                                        std::string accept) {
  constexpr std::size_t kLanes = 1024;  // many more than pages can be read at once
  fetchers::EngineRequest request;
  request.engine = what + ' ' + std::to_string(KeyedHash()(parts.host) % kLanes);
  request.url = std::move(url);
  request.headers = {{"User-Agent", "metafuse/" + std::string(version())}, {"Accept", std::move(accept)}};
  return request;
}

std::vector<fetchers::HttpAnswer> answers_to(fetchers::Transport& transport,
                                             std::vector<fetchers::EngineRequest> requests) {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<fetchers::HttpAnswer> answers;
    std::size_t missing = 0;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->answers.resize(requests.size());
  waiting->missing = requests.size();
  for (fetchers::HttpAnswer& answer : waiting->answers) answer.failure = fetchers::Failure::timeout;
  Duration longest{};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    longest = std::max(longest, requests[i].timeout);
    transport.send(std::move(requests[i]), [waiting, i](fetchers::HttpAnswer answer) {
      const std::lock_guard lock(waiting->mutex);
      if (waiting->answers.empty()) return;  // nothing waits any more
      waiting->answers[i] = std::move(answer);
      --waiting->missing;
      waiting->changed.notify_all();
    });
  }
  std::unique_lock lock(waiting->mutex);
  // every request ends within its timeout; the extra second is for a busy machine
  waiting->changed.wait_for(lock, longest + std::chrono::seconds(1), [&] { return waiting->missing == 0; });
  return std::exchange(waiting->answers, {});
}

}  // namespace metafuse::service
