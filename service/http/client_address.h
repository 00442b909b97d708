#pragma once

#include <string>
#include <string_view>

namespace metafuse::service {

/// What limits and click caps treat as one client: an IPv4 address (/32), or the first 48 bits of an IPv6
/// address, which is what one subscriber can have. IPv4 mapped into IPv6 is IPv4.
///
/// out: "192.0.2.7/32", "2001:db8:1::/48"; "unknown" for what is no address, so that all such share one limit
std::string address_prefix(std::string_view address);

}  // namespace metafuse::service
