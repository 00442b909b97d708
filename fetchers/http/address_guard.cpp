#include "fetchers/http/address_guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/name_lookup.h"
#include "core/url.h"

namespace metafuse::fetchers {
namespace {

struct Block4 {
  std::uint32_t address;
  int bits;
  Reach reach;
};

constexpr std::uint32_t ip(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

/// The first block that contains an address decides. Linux routes 0.0.0.0/8 to this machine.
constexpr Block4 kBlocks4[] = {
    {ip(0, 0, 0, 0), 8, Reach::us_only},      {ip(10, 0, 0, 0), 8, Reach::us_only},
    {ip(100, 64, 0, 0), 10, Reach::us_only},  {ip(127, 0, 0, 0), 8, Reach::us_only},
    {ip(169, 254, 0, 0), 16, Reach::nobody},  {ip(172, 16, 0, 0), 12, Reach::us_only},
    {ip(192, 0, 0, 0), 24, Reach::us_only},   {ip(192, 0, 2, 0), 24, Reach::us_only},
    {ip(192, 88, 99, 0), 24, Reach::us_only}, {ip(192, 168, 0, 0), 16, Reach::us_only},
    {ip(198, 18, 0, 0), 15, Reach::us_only},  {ip(198, 51, 100, 0), 24, Reach::us_only},
    {ip(203, 0, 113, 0), 24, Reach::us_only}, {ip(224, 0, 0, 0), 4, Reach::nobody},
    {ip(240, 0, 0, 0), 4, Reach::nobody},
};

Reach reach_of_v4(std::uint32_t address) {
  for (const Block4& block : kBlocks4)
    if ((address ^ block.address) >> (32 - block.bits) == 0) return block.reach;
  return Reach::everyone;
}

using Bytes = std::array<std::uint8_t, 16>;

bool starts(const Bytes& address, std::initializer_list<int> bytes) {
  return std::equal(bytes.begin(), bytes.end(), address.begin());
}

std::uint32_t embedded(const Bytes& address, std::size_t at) {
  return ip(address[at], address[at + 1], address[at + 2], address[at + 3]);
}

Reach reach_of_v6(const Bytes& a) {
  if (starts(a, {0xFE}) && (a[1] & 0xC0) == 0x80) return Reach::nobody;  // fe80::/10 link-local
  if (starts(a, {0xFF})) return Reach::nobody;                           // multicast
  if (starts(a, {0xFE}) || starts(a, {0xFC}) || starts(a, {0xFD})) return Reach::us_only;
  if (starts(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF})) return reach_of_v4(embedded(a, 12));
  if (starts(a, {0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0})) return reach_of_v4(embedded(a, 12));
  if (starts(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) {
    const std::uint32_t low = embedded(a, 12);
    return low <= 1 ? Reach::us_only : reach_of_v4(low);  // :: and ::1, else IPv4-compatible
  }
  if (starts(a, {0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0})) return reach_of_v4(embedded(a, 12));
  if (starts(a, {0, 0x64, 0xFF, 0x9B, 0, 1})) return Reach::us_only;
  if (starts(a, {0x20, 0x02})) return reach_of_v4(embedded(a, 2));  // 6to4
  if (starts(a, {0x20, 0x01, 0, 0})) return Reach::us_only;         // Teredo
  if (starts(a, {0x20, 0x01, 0x0D, 0xB8}) || starts(a, {0x3F, 0xFF})) return Reach::us_only;
  if (starts(a, {0x20, 0x01}) && a[2] < 2) return Reach::us_only;   // 2001::/23, protocol assignments
  return (a[0] & 0xE0) == 0x20 ? Reach::everyone : Reach::us_only;  // only 2000::/3 is allocated
}

}  // namespace

Reach reach_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return reach_of_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    Bytes bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return reach_of_v6(bytes);
  }
  return Reach::nobody;
}

Reach reach_of(std::string_view numeric_address) {
  const std::string text(numeric_address.substr(0, numeric_address.find('%')));
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return reach_of_v4(ntohl(v4.s_addr));
  Bytes v6{};
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return reach_of_v6(v6);
  return Reach::nobody;
}

namespace {

constexpr auto kBetweenLookUps = std::chrono::seconds(5);
constexpr auto kLongestLookingUp = std::chrono::minutes(10);

std::optional<Reach> reach_by_resolver(const std::string& host) {
  const auto addresses = look_up_addresses(host);
  if (addresses.empty()) return std::nullopt;
  const bool is_private = std::any_of(addresses.begin(), addresses.end(), [](const std::string& address) {
    return reach_of(std::string_view(address)) == Reach::us_only;
  });
  return is_private ? Reach::us_only : Reach::everyone;
}

}  // namespace

bool is_private_name(std::string_view host) {
  if (host.find('.') == std::string_view::npos) return true;
  for (const std::string_view end : {".localhost", ".local", ".internal", ".home.arpa", ".test", ".lan"})
    if (host.ends_with(end)) return true;
  return false;
}

std::shared_ptr<const OwnHost> OwnHost::find(const std::string& host, ReachOfName reach_of_name,
                                             const Clock& clock) {
  const bool has_brackets = host.size() > 2 && host.front() == '[';
  const std::string name = has_brackets ? host.substr(1, host.size() - 2) : host;
  return std::shared_ptr<const OwnHost>(new OwnHost(name, std::move(reach_of_name), clock));
}

OwnHost::OwnHost(std::string name, ReachOfName reach_of_name, const Clock& clock)
    : name_(std::move(name)),
      reach_of_name_(reach_of_name ? std::move(reach_of_name) : ReachOfName(reach_by_resolver)),
      clock_(clock),
      last_look_up_(clock.now() + kLongestLookingUp) {
  Bytes bytes{};
  const bool is_number = inet_pton(AF_INET, name_.c_str(), bytes.data()) == 1 ||
                         inet_pton(AF_INET6, name_.c_str(), bytes.data()) == 1;
  if (!is_number && !is_private_name(name_)) {
    look_up(clock.now());
    return;
  }
  std::promise<std::optional<Reach>> promise;
  promise.set_value(is_number ? reach_of(std::string_view(name_)) : Reach::us_only);
  found_ = promise.get_future().share();
}

/// The resolver cannot be interrupted, so its thread is detached and refers to nothing of ours.
void OwnHost::look_up(TimePoint now) const {
  std::promise<std::optional<Reach>> promise;
  found_ = promise.get_future().share();
  next_look_up_ = now + kBetweenLookUps;
  try {
    std::thread([name = name_, promise = std::move(promise), resolve = reach_of_name_]() mutable {
      promise.set_value(resolve(name));
    }).detach();
  } catch (const std::system_error&) {  // no thread: as if the name had not been found
    std::promise<std::optional<Reach>> none;
    none.set_value(std::nullopt);
    found_ = none.get_future().share();
  }
}

/// The result of the latest look-up, or of a new one if that is due.
OwnHost::Found OwnHost::found_by_now() const {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  const bool has_ended = found_.wait_for(Duration::zero()) == std::future_status::ready;
  if (has_ended && !found_.get() && now >= next_look_up_ && now <= last_look_up_) look_up(now);
  return found_;
}

bool OwnHost::is_private() const {
  constexpr auto kPatience = std::chrono::milliseconds(100);
  const Found found = found_by_now();
  return found.wait_for(kPatience) == std::future_status::ready && found.get() == Reach::us_only;
}

Result<AddressGuard> AddressGuard::make(const std::vector<std::string>& allow_private) {
  AddressGuard guard;
  for (const std::string& entry : allow_private) {
    const auto parts = parts_of_url("http://" + entry + "/");
    const std::size_t colon = entry.rfind(':');
    const bool has_port = colon != std::string::npos && colon + 1 < entry.size() &&
                          entry.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    if (!parts || !has_port || parts->path_and_query != "/")
      return fail(Code::bad_config,
                  "allow_private: \"" + entry + "\" is not host:port; write it like intranet.example:8080");
    guard.allowed_.insert(parts->origin());
  }
  return guard;
}

bool AddressGuard::may_connect(Reach reach, std::string_view origin, std::string_view own_origin) const {
  if (reach == Reach::everyone) return true;
  if (reach == Reach::nobody) return false;
  return (!own_origin.empty() && origin == own_origin) || allowed_.contains(origin);
}

}  // namespace metafuse::fetchers
