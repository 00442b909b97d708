#include "service/base/addresses.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <fmt/format.h>

#include "core/number.h"
#include "core/text.h"

namespace metafuse::service {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned short kSubscriberBits = 48;

/// in: text - a zone id is ignored, because it names a network link and not the client
std::optional<ip::address_v6> address_of(std::string_view text) {
  boost::system::error_code error;
  const auto address = ip::make_address(std::string(text.substr(0, text.find('%'))), error);
  if (error) return std::nullopt;
  return address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
}

ip::address_v6 first_of(const ip::address_v6& address, unsigned bits) {
  return ip::network_v6(address, static_cast<unsigned short>(bits)).network();
}

}  // namespace

bool AddressRange::contains(std::string_view address) const {
  const auto found = address_of(address);
  return found && first_of(*found, bits) == first_of(ip::address_v6(first), bits);
}

Result<AddressRange> parse_address_range(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::bad_config,
                fmt::format("\"{}\" is not an address; write one such as 192.0.2.7, or a range such as "
                            "10.0.0.0/8 or 2001:db8::/32",
                            text));
  };
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  const auto first = address_of(address);
  if (!first) return wrong();
  AddressRange out{first->to_bytes(), 128};
  if (slash == std::string_view::npos) return out;
  const std::int64_t most = address.find(':') == std::string_view::npos ? 32 : 128;
  std::int64_t bits = 0;
  if (!to_integer(text.substr(slash + 1), bits) || bits < 0 || bits > most) return wrong();
  out.bits = static_cast<unsigned>(bits + 128 - most);
  return out;
}

std::string address_prefix(std::string_view address) {
  const auto found = address_of(address);
  if (!found) return "unknown";
  if (found->is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, *found).to_string() + "/32";
  return first_of(*found, kSubscriberBits).to_string() + "/48";
}

bool is_loopback(std::string_view host) {
  if (ascii_lower(host) == "localhost") return true;
  const auto found = address_of(host);
  if (!found) return false;
  return found->is_v4_mapped() ? ip::make_address_v4(ip::v4_mapped, *found).is_loopback()
                               : found->is_loopback();
}

std::string host_without_port(std::string_view host) {
  std::string out;
  if (!host.empty() && host.front() == '[')
    out = std::string(host.substr(1, std::min(host.find(']'), host.size()) - 1));
  else
    out = std::string(host.substr(0, host.rfind(':')));
  return ascii_lower(out);
}

std::string host_of(std::string_view url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  std::string_view rest = url.substr(begin + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  return host_without_port(rest.find(':') == std::string_view::npos ? std::string(rest) + ":"
                                                                    : std::string(rest));
}

}  // namespace metafuse::service
