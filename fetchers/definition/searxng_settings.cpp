#include "fetchers/definition/searxng_settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/languages.h"
#include "core/number.h"
#include "core/text.h"
#include "fetchers/answers/part_text.h"
#include "fetchers/definition/block_edit.h"
#include "fetchers/definition/engine_types.h"

namespace metafuse::fetchers {
namespace {

/// The sections of a settings.yml that our own engine files do not have.
constexpr std::array<std::string_view, 18> kSections = {"use_default_settings",
                                                        "general",
                                                        "brand",
                                                        "search",
                                                        "server",
                                                        "ui",
                                                        "redis",
                                                        "valkey",
                                                        "preferences",
                                                        "outgoing",
                                                        "plugins",
                                                        "enabled_plugins",
                                                        "checker",
                                                        "hostname_replace",
                                                        "hostnames",
                                                        "categories_as_tabs",
                                                        "doi_resolvers",
                                                        "locales"};

constexpr double kMostSeconds = 300;  ///< of a time-out
constexpr std::size_t kMostShown = 40;

bool is_yes(const YamlNode* node) {
  if (node == nullptr || !node->is_scalar()) return false;
  const std::string word = ascii_lower(node->text);
  return word == "true" || word == "yes" || word == "on";
}

/// Resolves YAML 1.1's merge key, which SearXNG's parser supports: the entries of the map that `<<` refers to
/// are added, except for keys that the map has itself. Keys without a value mean SearXNG's default.
YamlNode with_merged_keys(const YamlNode& map) {
  YamlNode out = map;
  std::erase_if(out.entries, [](const YamlEntry& entry) {
    return entry.first.text == "<<" || entry.second.is_null() ||
           (entry.second.is_scalar() && !entry.second.is_quoted && ascii_lower(entry.second.text) == "null");
  });
  for (const YamlEntry& entry : map.entries) {
    if (entry.first.text != "<<") continue;
    const std::vector<YamlNode> one = {entry.second};
    for (const YamlNode& source : entry.second.is_list() ? entry.second.items : one)
      for (const YamlEntry& merged : source.entries)
        if (out.find(merged.first.text) == nullptr) out.entries.push_back(merged);
  }
  return out;
}

/// The user's block over SearXNG's own of its name. If the user names another engine, the default's
/// parameters belong to something else.
YamlNode completed(const YamlNode& own, const YamlNode& shipped) {
  const YamlNode* engine = own.find("engine");
  const bool has_requests = own.find("search_url") != nullptr || own.find("base_url") != nullptr;
  const bool is_generic = engine != nullptr && (engine->text == "json_engine" || engine->text == "xpath");
  const bool is_same =
      engine == nullptr || engine->text == text_below(shipped, "engine") || (is_generic && !has_requests);
  if (!is_same) return own;
  YamlNode out = shipped;
  set_places(out, own.place);
  for (const YamlEntry& entry : own.entries)
    if (!is_generic || entry.first.text != "engine") set_entry(out, entry.first.text, entry.second);
  // A user who enables an engine that SearXNG does not even load wants it loaded.
  const YamlNode* disabled = own.find("disabled");
  if (disabled != nullptr && !is_yes(disabled) && own.find("inactive") == nullptr)
    remove_entry(out, "inactive");
  return out;
}

/// A section, or a map in one, with the keys that SearXNG knows there.
struct KnownKeys {
  std::string_view section;
  std::string_view map;  ///< empty: the section itself
  std::vector<std::string> keys;
};

const std::vector<KnownKeys>& known_keys() {
  static const std::vector<KnownKeys> known = {
      {"use_default_settings", "", {"engines"}},
      {"use_default_settings", "engines", {"keep_only", "remove"}},
      {"hostnames", "", {"replace", "remove", "high_priority", "low_priority"}},
      {"search",
       "",
       {"safe_search", "default_lang", "autocomplete", "autocomplete_min", "favicon_resolver", "languages",
        "ban_time_on_fail", "max_ban_time_on_fail", "suspended_times", "formats", "max_page"}},
      {"outgoing",
       "",
       {"request_timeout", "proxies", "networks", "using_tor_proxy", "extra_proxy_timeout",
        "max_request_timeout", "useragent_suffix", "enable_http", "enable_http2", "verify",
        "pool_connections", "pool_maxsize", "keepalive_expiry", "max_keepalive_connections", "source_ips",
        "local_addresses", "retries", "retry_on_http_error", "max_redirects"}}};
  return known;
}

/// Warns of keys that have no effect here because nobody knows them.
void check_keys(const YamlNode& root, Diagnostics& diagnostics) {
  for (const KnownKeys& known : known_keys()) {
    const YamlNode* map = root.find(known.section);
    if (map != nullptr && !known.map.empty()) map = map->find(known.map);
    if (map == nullptr || !map->is_map()) continue;
    const std::string where = fmt::format("{}{}{}", known.section, known.map.empty() ? "" : ".", known.map);
    for (const YamlEntry& entry : map->entries) {
      const std::string& key = entry.first.text;
      if (std::find(known.keys.begin(), known.keys.end(), key) != known.keys.end()) continue;
      const std::string nearest =
          near_names(key, known.keys).empty() ? "" : did_you_mean(key, known.keys) + "?";
      diagnostics.warning(entry.first.place,
                          fmt::format("{}: the key \"{}\" has no effect{}", where, key, nearest));
    }
  }
}

/// Which of SearXNG's own blocks a settings.yml keeps.
class Kept {
 public:
  explicit Kept(const YamlNode* defaults) {
    if (defaults == nullptr) return;
    are_used_ = is_yes(defaults) || defaults->is_map();
    const YamlNode* engines = defaults->is_map() ? defaults->find("engines") : nullptr;
    if (engines == nullptr) return;
    if (const YamlNode* names = engines->find("keep_only"))
      for (const std::string& name : texts_in(*names)) only_.insert(name);
    if (const YamlNode* names = engines->find("remove"))
      for (const std::string& name : texts_in(*names)) removed_.insert(name);
  }

  bool are_used() const { return are_used_; }
  bool has(const std::string& name) const {
    return are_used_ && !removed_.contains(name) && (only_.empty() || only_.contains(name));
  }
  const std::set<std::string>& only() const { return only_; }

 private:
  bool are_used_ = false;
  std::set<std::string> only_, removed_;
};

/// The engines of the file, completed by SearXNG's own, and then those of its own that it keeps.
std::vector<YamlNode> engine_blocks(const YamlNode& root, Diagnostics& diagnostics) {
  const YamlNode* defaults = root.find("use_default_settings");
  const Kept kept(defaults);
  const YamlNode* list = root.find("engines");
  if (list != nullptr && !list->is_list() && !list->is_null())
    diagnostics.error(list->place, "engines must be a list: one \"- name: ...\" block per engine");
  else if ((list == nullptr || list->items.empty()) && !kept.are_used())
    diagnostics.error(root.place,
                      "this settings.yml has no engines; list them in `engines:`, or write "
                      "`use_default_settings: true`");
  std::vector<YamlNode> blocks;
  std::set<std::string> named;
  for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>() : list->items) {
    YamlNode block = item.is_map() ? with_merged_keys(item) : item;
    const std::string name = text_below(block, "name");
    const YamlNode* shipped = searxng_default(name);
    const bool is_name_only = block.find("engine") == nullptr;
    if (shipped != nullptr && (is_name_only || kept.has(name))) block = completed(block, *shipped);
    if (block.is_map() && block.find("engine") == nullptr && !name.empty())
      set_entry(block, "engine", text_node(name, block.place));  // a newer SearXNG may have it
    named.insert(name);
    blocks.push_back(std::move(block));
  }
  const Place place = defaults == nullptr ? root.place : defaults->place;
  for (const YamlNode& shipped : searxng_defaults()) {
    const std::string name = text_below(shipped, "name");
    if (!kept.has(name) || named.contains(name)) continue;
    named.insert(name);
    if (is_yes(shipped.find("inactive"))) continue;
    blocks.push_back(shipped);
    set_places(blocks.back(), place);
  }
  for (const std::string& name : kept.only())
    if (!named.contains(name))
      diagnostics.warning(place, "keep_only: SearXNG has no default engine \"" + name + "\"");
  return blocks;
}

/// True for a regular expression that is understood here; Python's look-ahead is not.
bool is_understood(const std::string& pattern, const YamlNode& node, Diagnostics& diagnostics) {
  const auto checked = check_pattern(pattern);
  if (!checked) diagnostics.warning(node.place, "hostnames: left out: " + checked.error().text);
  return checked.has_value();
}

void read_hostnames(const YamlNode& root, SearxngSettings& out, Diagnostics& diagnostics) {
  const YamlNode* hostnames = root.find("hostnames");
  if (hostnames == nullptr || !hostnames->is_map()) return;
  const auto note = [&](const YamlNode& node, const std::string& name) {
    diagnostics.warning(node.place,
                        "hostnames: " + name + ": other files are not read; write the rules here");
  };
  const std::pair<const char*, std::vector<std::string> HostnameRules::*> kLists[] = {
      {"remove", &HostnameRules::remove},
      {"high_priority", &HostnameRules::high_priority},
      {"low_priority", &HostnameRules::low_priority}};
  for (const auto& [name, member] : kLists)
    if (const YamlNode* node = hostnames->find(name)) {
      if (node->is_scalar()) note(*node, name);
      for (const YamlNode& item : node->items)
        if (item.is_scalar() && is_understood(item.text, item, diagnostics))
          (out.hostnames.*member).push_back(item.text);
    }
  if (const YamlNode* node = hostnames->find("replace")) {
    if (node->is_scalar()) note(*node, "replace");
    for (const YamlEntry& entry : node->entries) {
      const auto& [pattern, host] = std::pair(entry.first.text, entry.second.text);
      if (!entry.second.is_scalar() || !is_understood(pattern, entry.second, diagnostics)) continue;
      if (const auto checked = check_rewrite(pattern, host))
        out.hostnames.replace.emplace_back(pattern, host);
      else
        diagnostics.warning(entry.second.place, "hostnames: left out: " + checked.error().text);
    }
  }
}

// SearXNG's proxies are maps of URL patterns, and its engines refer to networks by name.

bool is_given(const YamlNode* node) {
  return node != nullptr && (!node->items.empty() || !node->entries.empty() ||
                             (node->is_scalar() && !node->text.empty() && node->text != "false" &&
                              node->text != "null" && node->text != "~"));
}

/// The first proxy of `proxies`: a URL, a list, or a map from "all://" and similar patterns to either.
///
/// out: empty, and reported, if the map has only patterns of single hosts
std::string first_proxy(const YamlNode& proxies, Diagnostics& diagnostics) {
  if (!proxies.is_map()) {
    const auto urls = texts_in(proxies);
    return urls.empty() ? std::string() : urls.front();
  }
  for (const std::string_view pattern : {"all://", "https://", "http://", "all", "https", "http"})
    for (const YamlEntry& entry : proxies.entries) {
      std::string_view key = entry.first.text;
      if (key.ends_with("://*")) key.remove_suffix(1);
      if (key.ends_with(':')) key.remove_suffix(1);
      if (const auto urls = texts_in(entry.second); key == pattern && !urls.empty()) return urls.front();
    }
  diagnostics.error(proxies.place,
                    "proxies: only all://, http:// and https:// are understood here, not proxies of "
                    "single hosts; write `proxy: URL` into the engines that need it");
  return {};
}

/// Our form of a proxy's URL. Names are always looked up by the proxy; `tor` says that it leads into Tor.
std::string our_proxy(const std::string& url, bool is_tor) {
  const std::size_t end = url.find("://");
  if (end == std::string::npos) return "http://" + url;
  const std::string scheme = ascii_lower(url.substr(0, end));
  if (scheme != "socks5h" && scheme != "socks5") return url;
  const bool has_tors_port = url.ends_with(":9050") || url.ends_with(":9150");
  return (is_tor || has_tors_port ? "tor" : "socks5") + url.substr(end);
}

/// The network that a block or `outgoing` names: proxies and whether they lead into Tor.
struct Network {
  std::optional<YamlNode> proxies;  ///< a copy, because the block that has it changes
  bool is_tor = false;
};

Network network_of(const YamlNode& map, const Network& preset) {
  Network out = preset;
  if (const YamlNode* proxies = map.find("proxies"); proxies != nullptr)
    out.proxies = is_given(proxies) ? std::optional<YamlNode>(*proxies) : std::nullopt;
  if (const YamlNode* tor = map.find("using_tor_proxy")) out.is_tor = is_yes(tor);
  return out;
}

/// The network that the block belongs to; nullopt, and reported, if it names one that is not defined.
std::optional<Network> chosen_network(const YamlNode& block, const YamlNode* outgoing, const Network& all,
                                      Diagnostics& diagnostics) {
  const YamlNode* network = block.find("network");
  if (network == nullptr) return network_of(block, all);
  if (network->is_map()) return network_of(*network, all);
  const YamlNode* networks = outgoing == nullptr ? nullptr : outgoing->find("networks");
  if (const YamlNode* named = networks == nullptr ? nullptr : networks->find(network->text)) {
    Network found = network_of(*named, all);
    found.is_tor = found.is_tor || network->text == "tor";
    return found;
  }
  const bool is_engine = searxng_default(network->text) != nullptr || network->text == "ipv4" ||
                         network->text == "ipv6" || network->text == text_below(block, "name");
  if (is_engine) return network_of(block, all);
  diagnostics.error(network->place, "network: \"" + network->text +
                                        "\" is not defined in outgoing.networks, so its proxy is unknown; "
                                        "queries would leave from the server's own address");
  return std::nullopt;
}

void check_network(const YamlNode& network, bool may_be_unknown, Diagnostics& diagnostics) {
  YamlMap map(network, "network", diagnostics);
  std::vector<std::string> keys;
  for (const YamlEntry& entry : network.entries) keys.push_back(entry.first.text);
  for (const char* known : {"proxies", "using_tor_proxy"}) map.take(known);
  map.finish(may_be_unknown ? keys : unused_searxng_keys());
}

/// The seconds below a key; 0 when absent or no sensible number.
double seconds_below(const YamlNode* map, std::string_view key) {
  double seconds = 0;
  if (map == nullptr || !to_double(text_below(*map, key), seconds)) return 0;
  return seconds > 0 && seconds <= kMostSeconds ? seconds : 0;
}

void set_seconds(YamlNode& block, double seconds) {
  set_entry(block, "timeout",
            text_node(fmt::format("{:g}", std::min(seconds, kMostSeconds)), block.place, false));
}

/// Warns of values that are not understood, and are taken as if they were not there.
void check_values(const YamlNode& root, Diagnostics& diagnostics) {
  const auto check = [&](const char* section, const char* key, const auto& is_right, const char* wanted) {
    const YamlNode* map = root.find(section);
    const YamlNode* value = map == nullptr ? nullptr : map->find(key);
    if (value == nullptr || value->is_null() || is_right(*value)) return;
    diagnostics.warning(value->place, fmt::format("{}.{}: \"{}\" has no effect; give {}", section, key,
                                                  truncate_utf8(value->text, kMostShown), wanted));
  };
  const auto is_word = [](const YamlNode& value, const std::vector<std::string_view>& words) {
    return value.is_scalar() && std::ranges::find(words, ascii_lower(value.text)) != words.end();
  };
  const auto is_time = [](const YamlNode& value) {
    double seconds = 0;
    return value.is_scalar() && to_double(value.text, seconds) && seconds >= 0 && seconds <= kMostSeconds;
  };
  const auto is_above_zero = [&](const YamlNode& value) {
    double seconds = 0;
    return is_time(value) && to_double(value.text, seconds) && seconds > 0;
  };
  check("outgoing", "request_timeout", is_above_zero, "seconds, above 0 and at most 300");
  check("outgoing", "extra_proxy_timeout", is_time, "seconds, 0 to 300");
  check(
      "outgoing", "using_tor_proxy",
      [&](const YamlNode& value) {
        return is_word(value, {"true", "yes", "on", "false", "no", "off"});
      },
      "true or false");
  check(
      "search", "safe_search",
      [&](const YamlNode& value) {
        return is_word(value, {"0", "1", "2"});
      },
      "0, 1 or 2");
  check(
      "search", "default_lang",
      [&](const YamlNode& value) {
        return is_word(value, {"", "auto", "all"}) || (value.is_scalar() && names_language(value.text));
      },
      "auto, all or a language such as de or pt-BR");
}

std::vector<YamlNode> read_defaults() {
  std::vector<YamlNode> blocks;
  for (const CatalogueFile& file : searxng_files()) {
    auto root = parse_yaml(file.text, file.name);
    require(root.has_value(), "SearXNG's default engines are YAML");
    const YamlNode* list = root->find("engines");
    require(list != nullptr && list->is_list(), "they are a list");
    blocks.insert(blocks.end(), list->items.begin(), list->items.end());
  }
  return blocks;
}

}  // namespace

const std::vector<YamlNode>& searxng_defaults() {
  static const std::vector<YamlNode> blocks = read_defaults();
  return blocks;
}

const YamlNode* searxng_default(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string, const YamlNode*, std::less<>> found;
    for (const YamlNode& block : searxng_defaults()) found.emplace(text_below(block, "name"), &block);
    return found;
  }();
  const auto at = by_name.find(name);
  return at == by_name.end() ? nullptr : at->second;
}

bool is_as_shipped(const YamlNode& block, const YamlEntry& entry) {
  const YamlNode* shipped = searxng_default(text_below(block, "name"));
  const YamlNode* value = shipped == nullptr ? nullptr : shipped->find(entry.first.text);
  return value != nullptr && value->kind == entry.second.kind && texts_in(*value) == texts_in(entry.second);
}

bool is_searxng_parameter(std::string_view module, std::string_view key) {
  return std::any_of(searxng_defaults().begin(), searxng_defaults().end(), [&](const YamlNode& block) {
    return block.find(key) != nullptr && text_below(block, "engine") == module;
  });
}

bool is_searxng_settings(const YamlNode& root) {
  return std::any_of(root.entries.begin(), root.entries.end(), [](const YamlEntry& entry) {
    return std::find(kSections.begin(), kSections.end(), entry.first.text) != kSections.end();
  });
}

SearxngSettings read_searxng_settings(const YamlNode& root, Diagnostics& diagnostics) {
  SearxngSettings out;
  out.blocks = engine_blocks(root, diagnostics);
  if (const YamlNode* search = root.find("search"); search != nullptr && search->is_map()) {
    const std::string level = text_below(*search, "safe_search");
    out.safe_search = level == "1" ? 1 : level == "2" ? 2 : 0;
    const std::string language = text_below(*search, "default_lang");
    if (language != "auto" && language != "all" && names_language(language)) out.default_language = language;
  }
  check_keys(root, diagnostics);
  check_values(root, diagnostics);
  read_hostnames(root, out, diagnostics);
  return out;
}

YamlNode with_network(YamlNode block, const YamlNode* outgoing, bool may_be_unknown,
                      Diagnostics& diagnostics) {
  if (const YamlNode* network = block.find("network"); network != nullptr && network->is_map())
    check_network(*network, may_be_unknown, diagnostics);
  const Network all = outgoing == nullptr ? Network{} : network_of(*outgoing, {});
  const auto network = chosen_network(block, outgoing, all, diagnostics);
  const bool has_own = block.find("proxy") != nullptr;
  const double request_timeout = seconds_below(outgoing, "request_timeout");
  if (block.find("timeout") == nullptr && request_timeout > 0) set_seconds(block, request_timeout);
  for (const std::string_view key : {"proxies", "using_tor_proxy", "network"}) remove_entry(block, key);
  if (!network || has_own) return block;
  if (network->is_tor && !network->proxies)
    diagnostics.error(block.place,
                      "using_tor_proxy is set, but there are no proxies; queries would leave from the "
                      "server's own address");
  if (!network->proxies) return block;
  const std::string url = first_proxy(*network->proxies, diagnostics);
  if (url.empty()) return block;
  set_entry(block, "proxy", text_node(our_proxy(url, network->is_tor), network->proxies->place));
  if (const double extra = seconds_below(outgoing, "extra_proxy_timeout"); extra > 0 && network->is_tor)
    set_seconds(block, extra + std::max(seconds_below(&block, "timeout"), 3.0));
  return block;
}

}  // namespace metafuse::fetchers
