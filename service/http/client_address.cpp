#include "service/http/client_address.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "service/http/message.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kIpv6PrefixBytes = 6;

std::string ipv4_prefix(const void* bytes) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, bytes, text.data(), text.size());
  return std::string(text.data()) + "/32";
}

std::string prefix_of(AddressBytes bytes) {
  if (is_ipv4(bytes)) return ipv4_prefix(&bytes[12]);
  std::fill(bytes.begin() + kIpv6PrefixBytes, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/48";
}

bool is_any(std::span<const AddressRange> ranges, std::string_view address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.contains(address); });
}

/// Some proxies add the port: "192.0.2.7:5000", "[2001:db8::1]:5000".
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos
             ? text.substr(0, colon)
             : text;
}

/// Cuts the last item of a list like "a, b, c" off.
std::string_view take_last(std::string_view& list) {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = list.substr(0, comma == std::string_view::npos ? 0 : comma);
  return trimmed(last);
}

}  // namespace

std::string client_address(std::span<const AddressRange> trusted_proxies, const HttpRequest& request) {
  std::string client = request.peer;
  const std::string lines = request.list("X-Forwarded-For");
  std::string_view chain = lines;
  while (!chain.empty() && is_any(trusted_proxies, client)) {
    const std::string_view last = take_last(chain);
    if (last.empty()) break;
    client = std::string(without_port(last));
  }
  return client;
}

bool came_by_https(std::span<const AddressRange> trusted_proxies, const HttpRequest& request) {
  const std::string lines = request.list("X-Forwarded-Proto");
  std::string_view chain = lines;
  return is_any(trusted_proxies, request.peer) && equal_ignoring_case(take_last(chain), "https");
}

std::string address_prefix(std::string_view address) {
  const auto bytes = address_bytes(address);
  return bytes ? prefix_of(*bytes) : "unknown";
}

}  // namespace metafuse::service
