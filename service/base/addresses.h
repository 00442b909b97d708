#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse::service {

/// Addresses with a common beginning, such as those of a proxy or of the network that proxies stand in. IPv4
/// stands as it is mapped into IPv6.
struct AddressRange {
  std::array<unsigned char, 16> first{};
  unsigned bits = 128;  ///< how many bits all of them share

  bool contains(std::string_view address) const;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// in:     text - an address, or ADDRESS/BITS as in 10.0.0.0/8
/// errors: bad_config
Result<AddressRange> parse_address_range(std::string_view text);

/// What limits and click caps treat as one client: an IPv4 address (/32), or the first 48 bits of an IPv6
/// address, which is what one subscriber can have. IPv4 mapped into IPv6 is IPv4.
///
/// out: "192.0.2.7/32", "2001:db8:1::/48"; "unknown" for what is no address, so that all such share one limit
std::string address_prefix(std::string_view address);

/// Whether an address or a host's name means this machine alone: 127.0.0.0/8, ::1, localhost.
bool is_loopback(std::string_view host);

/// A host and an optional port: "[::1]:80" is {"::1"}, "a:80" is {"a"}, in lower case.
std::string host_without_port(std::string_view host);

/// The host of a URL in lower case, without port; "" when there is none.
std::string host_of(std::string_view url);

}  // namespace metafuse::service
