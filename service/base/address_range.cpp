#include "service/base/address_range.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <arpa/inet.h>

#include "core/number.h"

namespace metafuse::service {
namespace {

constexpr std::array<unsigned char, 12> kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::optional<AddressBytes> address_bytes(std::string_view address) {
  const std::string text(address.substr(0, address.find('%')));
  AddressBytes six{};
  if (::inet_pton(AF_INET6, text.c_str(), six.data()) == 1) return six;
  std::copy(kMappedIpv4.begin(), kMappedIpv4.end(), six.begin());
  if (::inet_pton(AF_INET, text.c_str(), &six[kMappedIpv4.size()]) == 1) return six;
  return std::nullopt;
}

bool is_ipv4(const AddressBytes& address) {
  return std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), address.begin());
}

bool AddressRange::contains(std::string_view address) const {
  const auto bytes = address_bytes(address);
  if (!bytes) return false;
  for (unsigned bit = 0; bit < bits; bit += 8) {
    const unsigned free_bits = bits - bit < 8 ? 8 - (bits - bit) : 0;
    if (((*bytes)[bit / 8] ^ first[bit / 8]) >> free_bits != 0) return false;
  }
  return true;
}

Result<AddressRange> parse_address_range(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::bad_config, "\"" + std::string(text) +
                                      "\" is no address; write one such as 192.0.2.7, or a range such as "
                                      "10.0.0.0/8 or 2001:db8::/32");
  };
  const std::size_t slash = text.find('/');
  const auto bytes = address_bytes(text.substr(0, slash));
  if (!bytes) return wrong();
  AddressRange out{*bytes, 128};
  if (slash == std::string_view::npos) return out;
  const bool has_dots_only = text.substr(0, slash).find(':') == std::string_view::npos;
  const std::int64_t most = has_dots_only ? 32 : 128;
  std::int64_t bits = 0;
  if (!to_integer(text.substr(slash + 1), bits) || bits < 0 || bits > most) return wrong();
  out.bits = static_cast<unsigned>(bits + 128 - most);
  return out;
}

}  // namespace metafuse::service
