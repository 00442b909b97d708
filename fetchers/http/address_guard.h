#pragma once

#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

struct sockaddr;

namespace metafuse::fetchers {

/// Who can be behind an address.
enum class Reach {
  everyone,  ///< a public address
  us_only,   ///< this machine, private networks, and every other special block
  nobody,    ///< link-local (cloud metadata services live there), multicast, unspecified
};

/// source: IANA's special-purpose address registries; addresses that embed IPv4 (mapped, compatible, NAT64,
///         6to4) are what they embed
Reach reach_of(const sockaddr& address);
/// A numeric address without a scope; nobody for what is none.
Reach reach_of(std::string_view numeric_address);

/// Finds who can be behind a host's name; may take seconds.
using ReachOfName = std::function<Reach(const std::string& host)>;

/// Whether a definition's own host is a private one: a private address, a name that no public server can
/// have, or a name that led to a private address when the definition was loaded. A public name that turns
/// private later is none, so that its owner cannot lead us into our own network.
class OwnHost {
 public:
  /// Numbers and names without a dot are known at once, others are looked up on a thread of their own.
  ///
  /// in: reach_of_name - empty: the machine's resolver
  static std::shared_ptr<const OwnHost> find(const std::string& host, ReachOfName reach_of_name = {});

  /// False while the name is still being looked up, after a tenth of a second.
  bool is_private() const;

 private:
  std::shared_future<Reach> reach_;
};

/// Decides whether a request may connect to an address.
class AddressGuard {
 public:
  /// errors: bad_config: an entry that is not host:port
  static Result<AddressGuard> make(const std::vector<std::string>& allow_private);

  /// in: origin - "host:port" of the URL that is fetched; own_origin - of the engine's definition, empty
  ///     for none
  bool may_connect(Reach reach, std::string_view origin, std::string_view own_origin) const;

 private:
  std::set<std::string, std::less<>> allowed_;
};

}  // namespace metafuse::fetchers
