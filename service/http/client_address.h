#pragma once

#include <span>
#include <string>
#include <string_view>

#include "service/base/address_range.h"

namespace metafuse::service {

struct HttpRequest;

/// What limits and click caps treat as one client: an IPv4 address (/32), or the first 48 bits of an IPv6
/// address, which is what one subscriber can have. IPv4 mapped into IPv6 is IPv4.
///
/// out: "192.0.2.7/32", "2001:db8:1::/48"; "unknown" for what is no address, so that all such share one limit
std::string address_prefix(std::string_view address);

/// Whose request it is: the last address of X-Forwarded-For that is no trusted proxy's, when the peer is one.
/// A proxy may add a line of its own below what the client sent, so all lines count, in their order.
std::string client_address(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

/// Whether a trusted proxy says that the client came by HTTPS.
bool came_by_https(std::span<const AddressRange> trusted_proxies, const HttpRequest& request);

}  // namespace metafuse::service
