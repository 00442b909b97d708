#include "service/base/host.h"

#include <algorithm>

#include "core/ascii.h"

namespace metafuse::service {

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
