#include "service/reading/guarded_transport.h"

#include <utility>

#include "core/contract.h"

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

}  // namespace metafuse::service
