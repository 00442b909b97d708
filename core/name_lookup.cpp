#include "core/name_lookup.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>

namespace metafuse {
namespace {

bool is_numeric_address(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

std::vector<std::string> look_up_addresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> out;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeaddrinfo(found);
  return out;
}

/// State shared with the resolving thread, which may outlive the NameLookup.
struct NameLookup::Pending {
  std::mutex mutex;
  std::condition_variable ends;
  bool is_running = false;
  bool is_done = false;
  std::vector<std::string> found;
};

NameLookup::NameLookup(std::string host) : host_(std::move(host)), pending_(std::make_shared<Pending>()) {}

std::vector<std::string> NameLookup::addresses(Duration patience) {
  if (is_numeric_address(host_)) return {host_};
  std::unique_lock lock(pending_->mutex);
  if (!pending_->is_running) {
    pending_->is_running = true;
    pending_->is_done = false;
    try {
      std::thread([pending = pending_, host = host_] {
        auto found = look_up_addresses(host);
        const std::lock_guard guard(pending->mutex);
        pending->found = std::move(found);
        pending->is_running = false;
        pending->is_done = true;
        pending->ends.notify_all();
      }).detach();
    } catch (const std::system_error&) {  // the system has no thread left
      pending_->is_running = false;
      return {};
    }
  }
  pending_->ends.wait_for(lock, patience, [&] { return pending_->is_done; });
  return pending_->is_done ? pending_->found : std::vector<std::string>();
}

}  // namespace metafuse
