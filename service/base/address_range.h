#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/result.h"

namespace metafuse::service {

/// An IPv6 address, or an IPv4 one as mapped into IPv6.
using AddressBytes = std::array<unsigned char, 16>;

/// in:     address - its text; a zone id is left out, since it says which link, not who
std::optional<AddressBytes> address_bytes(std::string_view address);

/// Whether it is one of IPv4, which is its last four bytes.
bool is_ipv4(const AddressBytes& address);

/// Addresses with a common beginning, such as those of a proxy or of the network that proxies stand in.
struct AddressRange {
  AddressBytes first{};
  unsigned bits = 128;  ///< how many of it all have

  bool contains(std::string_view address) const;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// in:     text - an address, or ADDRESS/BITS as in 10.0.0.0/8
/// errors: bad_config
Result<AddressRange> parse_address_range(std::string_view text);

}  // namespace metafuse::service
