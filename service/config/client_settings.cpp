#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "service/base/addresses.h"
#include "service/config/settings.h"

// Reads by which names clients may call the server, from which origins browsers may, and through which
// proxies. Names and origins are compared with what clients send, byte for byte, so anything that no client
// sends is a mistake.

namespace metafuse::service {
namespace {

/// Whether the text can be a Host header: a host in ASCII as browsers send it, with or without port.
bool is_host_and_port(std::string_view text) {
  constexpr std::string_view kOfHost = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]";
  return !host_without_port(text).empty() && text.back() != ':' &&
         text.find_first_not_of(kOfHost) == std::string_view::npos;
}

/// The host and port of a text that may have a scheme, a user name and a path around them.
std::string host_and_port_in(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos)
    text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) text.remove_prefix(at + 1);
  return std::string(text);
}

/// The origin that browsers send for a page of that address: in lower case, without path, and without the
/// scheme's own port. Without a scheme, HTTPS is meant.
std::string origin_in(std::string_view text) {
  const std::size_t end = text.find("://");
  const std::string scheme = end == std::string_view::npos ? "https" : ascii_lower(text.substr(0, end));
  std::string host = ascii_lower(host_and_port_in(text));
  const std::string_view own_port = scheme == "https" ? ":443" : scheme == "http" ? ":80" : "";
  if (!own_port.empty() && host.ends_with(own_port)) host.resize(host.size() - own_port.size());
  return scheme + "://" + host;
}

/// A list of texts that are compared with what clients send.
struct ExactTexts {
  std::vector<std::string> ServerConfig::*member;
  std::string (*corrected)(std::string_view);  ///< what clients send where a person wrote this
  const char* form;
};

void read_exact(const YamlNode& node, const char* key, ConfigReading& reading, const ExactTexts& texts) {
  const std::vector<YamlNode> one = {node};
  for (const YamlNode& item : node.is_list() ? node.items : one) {
    const auto text = yaml_string(item, key, reading.diagnostics);
    if (!text) continue;
    const std::string sent = texts.corrected(*text);
    const bool can_be_sent = is_host_and_port(host_and_port_in(sent));
    if (*text == "*" || (*text == sent && can_be_sent))
      (reading.config.*texts.member).push_back(*text);
    else
      reading.diagnostics.error(
          item.place, fmt::format("{}: \"{}\" can never match what a client sends; write {}", key, *text,
                                  can_be_sent ? '"' + sent + '"' : texts.form));
  }
}

}  // namespace

void read_server_names(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_exact(node, key, reading,
             {&ServerConfig::server_names, host_and_port_in, "HOST or HOST:PORT, or \"*\" for all"});
}

void read_cors_origins(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_exact(node, key, reading,
             {&ServerConfig::cors_origins, origin_in, "https://HOST or https://HOST:PORT, or \"*\" for all"});
}

void read_proxies(const YamlNode& node, const char* key, ConfigReading& reading) {
  if (!node.is_list()) reading.diagnostics.error(node.place, "trusted_proxies must be a list of addresses");
  for (const YamlNode& item : node.items) {
    const auto text = yaml_string(item, key, reading.diagnostics);
    const auto range = parse_address_range(text.value_or("::"));
    if (range)
      reading.config.trusted_proxies.push_back(*range);
    else
      reading.diagnostics.error(item.place, "trusted_proxies: " + range.error().text);
  }
}

}  // namespace metafuse::service
