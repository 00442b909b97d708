#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse::service {

/// A range of addresses with a common prefix, such as a proxy's network. IPv4 addresses are held as
/// IPv4-mapped IPv6 addresses.
struct AddressRange {
  std::array<unsigned char, 16> first{};
  unsigned bits = 128;  ///< length of the common prefix

  bool contains(std::string_view address) const;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// in:     text - an address, or ADDRESS/BITS as in 10.0.0.0/8
/// errors: bad_config
Result<AddressRange> parse_address_range(std::string_view text);

/// What rate limits and click caps treat as one client: an IPv4 address (/32), or the first 48 bits of an
/// IPv6 address, because one subscriber may have that many. IPv4-mapped IPv6 counts as IPv4.
///
/// out: "192.0.2.7/32", "2001:db8:1::/48"; "unknown" for text that is no address: all such clients share
///      one limit
std::string address_prefix(std::string_view address);

/// Whether an address or host name is this machine's loopback: 127.0.0.0/8, ::1, localhost.
bool is_loopback(std::string_view host);

/// The host of "HOST:PORT" in lower case: "::1" of "[::1]:80", "a" of "a:80".
std::string host_without_port(std::string_view host);

/// The host of a URL in lower case, without port; "" if there is none.
std::string host_of(std::string_view url);

}  // namespace metafuse::service
