#pragma once

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
/// 6to4) are
///         what they embed
Reach reach_of(const sockaddr& address);
/// A numeric address without a scope; nobody for what is none.
Reach reach_of(std::string_view numeric_address);

/// Decides whether a request may connect to an address.
class AddressGuard {
 public:
  /// errors: bad_config: an entry that is not host:port
  static Result<AddressGuard> make(const std::vector<std::string>& allow_private);

  /// in: origin - "host:port" of the URL that is fetched; own_origin - of the engine's definition, empty for
  /// none
  bool may_connect(Reach reach, std::string_view origin, std::string_view own_origin) const;

 private:
  std::set<std::string, std::less<>> allowed_;
};

}  // namespace metafuse::fetchers
