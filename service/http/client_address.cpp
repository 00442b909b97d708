#include "service/http/client_address.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

namespace metafuse::service {
namespace {

constexpr std::array<unsigned char, 12> kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kIpv6PrefixBytes = 6;

std::string ipv4_prefix(const void* bytes) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, bytes, text.data(), text.size());
  return std::string(text.data()) + "/32";
}

std::string ipv6_prefix(std::array<unsigned char, 16> bytes) {
  if (std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), bytes.begin())) return ipv4_prefix(&bytes[12]);
  std::fill(bytes.begin() + kIpv6PrefixBytes, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/48";
}

}  // namespace

std::string address_prefix(std::string_view address) {
  const std::string text(address.substr(0, address.find('%')));  // a zone id says which link, not who
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return ipv4_prefix(&four);
  std::array<unsigned char, 16> six{};
  if (::inet_pton(AF_INET6, text.c_str(), six.data()) == 1) return ipv6_prefix(six);
  return "unknown";
}

}  // namespace metafuse::service
