#include "fetchers/answers/redirect_links.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/encoding.h"
#include "core/text.h"
#include "core/url.h"

namespace metafuse::fetchers {
namespace {

constexpr int kMostLayers = 4;
constexpr std::size_t kMaxUrlBytes = 8192;

struct KnownLink {
  std::string_view match;
  std::string_view parameter;
};

/// Redirect links of large sites.
constexpr std::array kKnownLinks = {
    KnownLink{"google.*/url", "q"},
    KnownLink{"google.*/url", "url"},
    KnownLink{"google.*/imgres", "imgrefurl"},
    KnownLink{"google.*/aclk", "adurl"},
    KnownLink{"googleadservices.com/pagead/aclk", "adurl"},
    KnownLink{"bing.com/ck/a", "u"},
    KnownLink{"bing.com/newtabredir", "url"},
    KnownLink{"r.search.yahoo.com/", "/RU="},
    KnownLink{"search.yahoo.com/", "/RU="},
    KnownLink{"duckduckgo.com/l/", "uddg"},
    KnownLink{"facebook.com/l.php", "u"},
    KnownLink{"facebook.com/flx/warn/", "u"},
    KnownLink{"l.instagram.com/", "u"},
    KnownLink{"l.threads.net/", "u"},
    KnownLink{"safelinks.protection.outlook.com/", "url"},
    KnownLink{"linkedin.com/redir/redirect", "url"},
    KnownLink{"linkedin.com/safety/go", "url"},
    KnownLink{"youtube.com/redirect", "q"},
    KnownLink{"out.reddit.com/", "url"},
    KnownLink{"t.umblr.com/redirect", "z"},
    KnownLink{"vk.com/away.php", "to"},
    KnownLink{"steamcommunity.com/linkfilter/", "url"},
    KnownLink{"steamcommunity.com/linkfilter/", "u"},
    KnownLink{"slack-redir.net/link", "url"},
    KnownLink{"exit.sc/", "url"},
    KnownLink{"href.li/", "?"},
    KnownLink{"deviantart.com/users/outgoing", "?"},
    KnownLink{"pixiv.net/jump.php", "?"},
    KnownLink{"prod.mozaws.net/v1/", "/"},
    KnownLink{"yandex.*/clck/jsredir", "url"},
    KnownLink{"link.zhihu.com/", "target"},
    KnownLink{"link.csdn.net/", "target"},
    KnownLink{"link.juejin.cn/", "target"},
    KnownLink{"gitee.com/link", "target"},
    KnownLink{"urldefense.proofpoint.com/v2/url", "u"},
    KnownLink{"urldefense.com/v2/url", "u"},
    KnownLink{"go.skimresources.com/", "url"},
    KnownLink{"click.linksynergy.com/", "murl"},
    KnownLink{"awin1.com/cread.php", "ued"},
    KnownLink{"anon.to/", "?"},
    KnownLink{"nullrefer.com/", "?"},
    KnownLink{"curseforge.com/linkout", "remoteUrl"},
};

/// An absolute URL split into its host and the rest.
struct SplitUrl {
  std::string host;
  std::string_view rest;  ///< from the slash or question mark on
};

SplitUrl split(std::string_view url) {
  const std::size_t begin = std::min(url.find("://"), url.size() - std::min<std::size_t>(3, url.size())) + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  std::string_view host = url.substr(begin, end - begin);
  if (host.find('@') != std::string_view::npos) return {"", {}};
  host = host.substr(0, host.rfind(':'));
  return {ascii_lower(host), url.substr(end)};
}

/// True for the name itself and its subdomains. "google.*" matches google.de and google.co.uk.
bool is_host_of(std::string_view host, std::string_view name) {
  if (!name.ends_with(".*"))
    return host == name ||
           (host.size() > name.size() && host.ends_with(name) && host[host.size() - name.size() - 1] == '.');
  const std::string_view label = name.substr(0, name.size() - 1);  // includes the dot
  if (host.starts_with("www.")) host.remove_prefix(4);
  if (!host.starts_with(label)) return false;
  const std::string_view domain = host.substr(label.size());
  const auto dots = std::count(domain.begin(), domain.end(), '.');
  return domain.size() >= 2 && (dots == 0 || (dots == 1 && domain.size() <= 6));
}

/// "/l" matches "/l", "/l?..." and "/l/...". A path that ends with a slash matches everything below it.
bool is_path_of(std::string_view rest, std::string_view path) {
  if (path.empty() || path == "/") return true;
  if (!rest.starts_with(path))
    return path.ends_with('/') && rest.starts_with(path.substr(0, path.size() - 1)) &&
           rest.substr(path.size() - 1).starts_with('?');
  return path.ends_with('/') || rest.size() == path.size() || rest[path.size()] == '?' ||
         rest[path.size()] == '/';
}

std::optional<std::string_view> raw_value(std::string_view rest, std::string_view path,
                                          std::string_view parameter) {
  rest = rest.substr(0, rest.find('#'));
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  std::string_view query = rest.substr(std::min(mark + 1, rest.size()));
  if (parameter == "?") return query;
  if (parameter == "/") {
    std::string_view below = rest.substr(std::min(path.size(), rest.size()));
    return below.substr(std::min(below.find('/') + 1, below.size()));  // a digest precedes the target
  }
  if (parameter.starts_with('/')) {
    const std::size_t at = rest.find(parameter);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view value = rest.substr(at + parameter.size());
    return value.substr(0, value.find('/'));
  }
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view field = query.substr(0, end);
    if (field.size() > parameter.size() && field.starts_with(parameter) && field[parameter.size()] == '=')
      return field.substr(parameter.size() + 1);
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

/// Decodes "aHR0...", which may use either base64 alphabet and lack padding.
std::string base64_text(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return base64_decoded(text).value_or("");
}

bool is_target(const std::string& text) {
  const bool has_scheme = text.starts_with("http://") || text.starts_with("https://");
  return has_scheme && text.size() <= kMaxUrlBytes && first_invalid_utf8(text) == std::string_view::npos &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 0x20; }) &&
         parts_of_url(text).has_value();
}

/// The URL that a value represents: plain, percent-encoded, in base64 (which Bing prefixes with "a1"), or in
/// Proofpoint's encoding, which writes percent signs as hyphens and slashes as underscores.
std::optional<std::string> target_of(std::string_view value) {
  std::string text = percent_decoded(value);
  if (is_target(text)) return text;
  for (const std::size_t skipped : {std::size_t{0}, std::size_t{2}})
    if (std::string_view(text).substr(std::min(skipped, text.size())).starts_with("aHR0"))
      if (std::string decoded = base64_text(text.substr(skipped)); is_target(decoded)) return decoded;
  if (text.starts_with("http-3A__") || text.starts_with("https-3A__")) {
    std::replace(text.begin(), text.end(), '-', '%');
    std::replace(text.begin(), text.end(), '_', '/');
    text = percent_decoded(text);
    if (is_target(text)) return text;
  }
  return std::nullopt;
}

std::optional<std::string> target_by(const SplitUrl& url, std::string_view match,
                                     std::string_view parameter) {
  const std::size_t slash = std::min(match.find('/'), match.size());
  const std::string_view path = match.substr(slash);
  if (!is_host_of(url.host, match.substr(0, slash)) || !is_path_of(url.rest, path)) return std::nullopt;
  const auto value = raw_value(url.rest, path, parameter);
  return value ? target_of(*value) : std::nullopt;
}

/// urldefense.com/v3/__TARGET__;CODES!!...: characters removed from TARGET are replaced by asterisks and
/// listed, in order, in CODES.
std::optional<std::string> target_of_urldefense(const SplitUrl& url) {
  if (!is_host_of(url.host, "urldefense.com") || !url.rest.starts_with("/v3/__")) return std::nullopt;
  const std::string_view rest = url.rest.substr(6);
  const std::size_t end = rest.find("__;");
  if (end == std::string_view::npos || rest.substr(0, end).find('*') != std::string_view::npos)
    return std::nullopt;
  return target_of(rest.substr(0, end));
}

std::optional<std::string> one_layer_less(const std::string& text, const std::vector<UnwrapRule>& rules) {
  const SplitUrl url = split(text);
  for (const UnwrapRule& rule : rules)
    if (auto target = target_by(url, rule.match, rule.parameter)) return target;
  for (const KnownLink& link : kKnownLinks)
    if (auto target = target_by(url, link.match, link.parameter)) return target;
  return target_of_urldefense(url);
}

}  // namespace

Result<void> check_unwrap_rule(const UnwrapRule& rule) {
  const std::string host = rule.match.substr(0, rule.match.find('/'));
  const bool is_host = !host.empty() && host.find('.') != std::string::npos &&
                       host.find_first_of(" :?#@") == std::string::npos;
  if (!is_host)
    return fail(Code::bad_config,
                "match: \"" + rule.match + "\" does not begin with a host; write example.org/path");
  if (rule.parameter.empty())
    return fail(Code::bad_config, "parameter is empty; name the URL parameter that holds the target");
  return {};
}

bool may_be_redirect(std::string_view url) {
  // a target inside is a URL or its base64
  const std::string_view inside = url.substr(std::min<std::size_t>(url.size(), 8));
  return contains_text(inside, "http") || contains_text(inside, "aHR0");
}

std::string unwrapped_url(std::string url, const std::vector<UnwrapRule>& rules) {
  for (int layer = 0; layer < kMostLayers && may_be_redirect(url); ++layer) {
    auto target = one_layer_less(url, rules);
    if (!target) break;
    url = std::move(*target);
  }
  return url;
}

}  // namespace metafuse::fetchers
