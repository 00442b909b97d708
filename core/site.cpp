#include "core/site.h"

#include <algorithm>

#include "core/text.h"
#include "core/url.h"

namespace metafuse {
namespace {

/// The host without user, port and brackets. An IPv6 address without brackets has no port.
std::string_view bare_host(std::string_view authority) {
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  const std::size_t colon = authority.find(':');
  return colon == authority.rfind(':') ? authority.substr(0, colon) : authority;
}

}  // namespace

Site read_site(std::string_view text) {
  text = ascii_trimmed(text);
  if (has_scheme(text)) text.remove_prefix(text.find("://") + 1);
  if (text.starts_with("//")) text.remove_prefix(2);
  const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view authority = text.substr(0, end);
  std::string_view path = text.substr(end);
  path = path.substr(0, path.find_first_of("?#"));
  std::string_view host = bare_host(authority);
  Site out;
  out.has_more = host.size() < authority.size() || path.size() < text.size() - end;
  while (host.ends_with('.')) host.remove_suffix(1);
  while (path.ends_with('/') || path.ends_with("/*")) path.remove_suffix(path.ends_with('*') ? 2 : 1);
  out.host = ascii_lower(host);
  for (const std::string_view start : {"*.", ".", "www."})
    if (out.host.starts_with(start)) out.host.erase(0, start.size());
  out.host = ascii_host(out.host);
  out.path = path;
  return out;
}

}  // namespace metafuse
