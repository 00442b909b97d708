// Reads an engines file: its blocks, the definitions of the catalogue that they name, and what a whole
// settings.yml of SearXNG needs (merge keys, `use_default_settings`, skipped blocks).

#include "fetchers/definition/engine_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "core/text_file.h"
#include "core/url.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/engines/vector/embedding.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxDefinitionBytes = std::size_t{1} << 20;

/// The characters that the name and the tag of a run file allow.
bool is_engine_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return c == '@' || c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

template <class Rows>
std::string names_of(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

/// The host of a URL that may hold placeholders.
std::string_view host_in(std::string_view url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  url.remove_prefix(begin + 3);
  return url.substr(0, url.find_first_of("/?#:"));
}

void add_entry(YamlNode& map, const std::string& key, const YamlNode& value) {
  YamlEntry entry{value, value};
  entry.first.text = key;
  map.entries.push_back(std::move(entry));
}

/// Resolves YAML 1.1's merge key, which SearXNG's parser supports: the entries of the map that `<<` refers to
/// are added, except for keys that the map has itself.
YamlNode with_merged_keys(const YamlNode& map) {
  YamlNode out = map;
  std::erase_if(out.entries, [](const YamlEntry& entry) { return entry.first.text == "<<"; });
  for (const YamlEntry& entry : map.entries) {
    if (entry.first.text != "<<") continue;
    const std::vector<YamlNode> one = {entry.second};
    for (const YamlNode& source : entry.second.is_list() ? entry.second.items : one)
      for (const YamlEntry& merged : source.entries)
        if (out.find(merged.first.text) == nullptr) out.entries.push_back(merged);
  }
  return out;
}

class FileReader {
 public:
  FileReader(std::string folder, Diagnostics& diagnostics)
      : folder_(std::move(folder)), diagnostics_(diagnostics) {}

  EngineFile read(const YamlNode& root) {
    YamlMap map(root, "the file", diagnostics_);
    map.take_integer("version", 1, 1);
    is_whole_settings_ = std::any_of(root.entries.begin(), root.entries.end(), [](const YamlEntry& entry) {
      return entry.first.text == "use_default_settings" || entry.first.text == "search" ||
             entry.first.text == "server" || entry.first.text == "general";
    });
    read_outgoing(root);
    const YamlNode* defaults = map.take("use_default_settings");
    const YamlNode* list = defaults == nullptr ? map.take_required("engines") : map.take("engines");
    if (list != nullptr && !list->is_list())
      diagnostics_.error(list->place, "engines must be a list: one \"- name: ...\" block per engine");
    if (const YamlNode* node = map.take("embedding"))
      embedding_ = read_embedding(*node, folder_, diagnostics_);
    if (list != nullptr && list->is_list())
      for (const YamlNode& block : list->items) read_block(with_merged_keys(block));
    if (defaults != nullptr) read_kept(*defaults);
    for (const YamlEntry& entry : root.entries)
      if (entry.first.text == "use_default_settings" && !entry.second.is_map())
        diagnostics_.warning(entry.first.place, "the key \"use_default_settings\" has no effect here");
    // A whole settings.yml of SearXNG has other sections besides engines, and keys that only define anchors.
    std::vector<std::string> sections;
    if (is_whole_settings_)
      for (const YamlEntry& entry : root.entries) sections.push_back(entry.first.text);
    map.finish(sections);
    return {std::move(engines_), {}, std::move(refused_), std::move(embedding_)};
  }

 private:
  /// Adds those of SearXNG's own blocks that `use_default_settings` keeps, as far as the catalogue has them.
  void read_kept(const YamlNode& defaults) {
    const YamlNode* engines = defaults.is_map() ? defaults.find("engines") : nullptr;
    const YamlNode* kept = engines != nullptr && engines->is_map() ? engines->find("keep_only") : nullptr;
    if (kept != nullptr && kept->is_list())
      for (const YamlNode& name : kept->items)
        if (name.is_scalar() && !places_.contains(name.text)) {
          YamlNode block;
          block.kind = YamlNode::Kind::map;
          block.place = name.place;
          add_entry(block, "name", name);
          read_block(block);
        }
    if (engines_.empty() && refused_.empty())
      diagnostics_.error(defaults.place,
                         "this settings.yml uses SearXNG's default engines and lists no others; list "
                         "the engines you want in `engines:`, or use SearXNG's own settings.yml");
  }

  /// A block with mistakes makes one of our own files invalid; in a SearXNG file it is skipped.
  void read_block(const YamlNode& block) {
    Diagnostics mistakes(diagnostics_.file());
    const std::size_t before = engines_.size();
    read_engine(block, mistakes);
    if (!is_whole_settings_ || !mistakes.has_errors()) return diagnostics_.add(mistakes);
    engines_.resize(before);
    refused_.push_back(mistakes.to_error(Code::bad_config).text);
  }

  void read_engine(const YamlNode& written, Diagnostics& diagnostics) {
    if (!written.is_map()) {
      YamlMap(written, "an engine", diagnostics);
      return;
    }
    const YamlNode block = meant_block(written, diagnostics);
    Engine engine;
    EngineBlock reading{YamlMap(block, "an engine", diagnostics), diagnostics, folder_, engine};
    YamlMap& map = reading.map;
    map.take("about");  // for people, and for `metafuse engines list`
    map.take("searxng");
    engine.name = map.take_required_string("name");
    check_name(block, engine.name, diagnostics);
    const YamlNode* type_node = map.take_required("engine");
    const std::string type_name = map.take_string("engine").value_or("");
    const EngineType* type = find_engine_type(type_name);
    if (type == nullptr) {
      if (type_node != nullptr && type_node->is_scalar()) report_type(*type_node, type_name, diagnostics);
      return;
    }
    engine.type = type->name;
    take_common_keys(reading, *type);
    type->read(reading);
    refuse_protected(reading);
    take_embedding(reading);
    map.finish(unused_searxng_keys());
    engines_.push_back(std::move(engine));
  }

  /// The block after a catalogue definition that it names has been merged in, with its parameters filled in.
  YamlNode meant_block(const YamlNode& written, Diagnostics& diagnostics) const {
    if (const YamlNode* name = written.find("name");
        is_whole_settings_ && written.find("engine") == nullptr && name != nullptr && name->is_scalar()) {
      // It changes a block that SearXNG ships, which usually has the name of its engine.
      YamlNode changed = written;
      add_entry(changed, "engine", *name);
      return meant_block(changed, diagnostics);
    }
    const YamlNode* type = written.find("engine");
    std::optional<YamlNode> block;
    if (type != nullptr && type->is_scalar() && find_engine_type(type->text) == nullptr)
      block = catalogue_block(written, type->text, is_whole_settings_, diagnostics);
    if (!block) block = written;
    fill_parameters(*block, diagnostics);
    return *block;
  }

  void check_name(const YamlNode& block, const std::string& name, Diagnostics& diagnostics) {
    const YamlNode* node = block.find("name");
    if (node == nullptr || !node->is_scalar() || name.empty()) return;
    if (!is_engine_name(name))
      diagnostics.error(node->place, "the name \"" + name + "\" must be 1 to 64 characters without / and @");
    const auto [entry, is_new] = places_.emplace(name, node->place);
    if (!is_new)
      diagnostics.error(node->place, "the engine \"" + name + "\" is defined twice (first in line " +
                                         std::to_string(entry->second.line) + "); rename one");
  }

  void report_type(const YamlNode& node, const std::string& name, Diagnostics& diagnostics) {
    const std::string instead =
        "; define it with json_engine, xpath or xml_engine, or query a SearXNG through searx_engine";
    if (is_python_engine(name))
      return diagnostics.error(node.place, "the engine \"" + name + "\" is Python code in SearXNG" + instead);
    if (name == "mongodb")
      return diagnostics.error(node.place,
                               "the engine type \"mongodb\" no longer exists; ask MongoDB through an engine "
                               "of the type odbc (MongoDB's own ODBC driver) or command");
    const std::string unknown = "unknown engine type \"" + name + "\"";
    diagnostics.error(node.place, is_whole_settings_
                                      ? unknown + ", or Python code in a newer SearXNG" + instead
                                      : unknown + "; use one of " + names_of(engine_types()));
  }

  void take_common_keys(EngineBlock& block, const EngineType& type) {
    Engine& engine = block.engine;
    engine.categories = {"general"};
    block.take("shortcut", engine.shortcut);
    block.take("description", engine.description);
    if (auto categories = block.map.take_strings("categories")) engine.categories = std::move(*categories);
    block.take("weight", engine.weight, 0, 1e6);
    block.take("max_query_bytes", engine.max_query_bytes, 1, 1 << 20);
    bool is_inactive = false;  // which SearXNG does not even load
    block.take("inactive", is_inactive);
    block.take("disabled", engine.is_disabled);
    engine.is_disabled = engine.is_disabled || is_inactive;
    block.take("timeout", engine.timeout_seconds, 0.01, 300);
    block.take("connect_timeout", engine.connect_seconds, 0.01, 300);
    block.take("first_byte_timeout", engine.first_byte_seconds, 0.01, 300);
    block.take("max_bytes", engine.max_bytes, 1024, 64 << 20);
    block.take("retries", engine.retries, 0, 10);
    block.take("max_connections", engine.max_connections, 1, 1000);
    block.take("requests_per_second", engine.requests_per_second, 0, 1e6);
    take_retry_statuses(block);
    take_query_syntax(block, type);
  }

  /// Some of SearXNG's keys protect an engine or those who ask it. They have no effect here, so an engine
  /// that relies on them is not used.
  void refuse_protected(EngineBlock& block) {
    const auto is_set = [&](std::string_view key) {
      const YamlNode* node = block.map.take(key);
      return node != nullptr && (!node->items.empty() || !node->entries.empty() ||
                                 (node->is_scalar() && !node->text.empty() && node->text != "false" &&
                                  node->text != "null" && node->text != "~"));
    };
    if (is_set("tokens"))
      block.error_at("tokens",
                     "tokens: everybody could ask this engine, because tokens have no effect here; remove "
                     "them, or give keys with `engines:` to those who may ask it");
    const YamlNode* network = block.map.take("network");
    const bool is_tor =
        network != nullptr && (network->text == "tor" || proxied_networks_.contains(network->text));
    for (const std::string_view key : {"proxies", "using_tor_proxy", "network"})
      if (key == "network" ? is_tor : is_set(key))
        block.error_at(key, std::string(key) +
                                ": proxies and Tor are not supported, so queries would leave from the "
                                "server's own address; remove the key if they may");
    if (const auto* http = std::get_if<HttpAccess>(&block.engine.access))
      for (const std::string& url : {http->url, http->description_url})
        if (is_onion_host(host_in(url)))
          block.error("the engine \"" + block.engine.name +
                      "\" is in the Tor network (.onion), which is not supported");
  }

  /// Notes which of SearXNG's networks go through a proxy, and refuses a proxy for all engines.
  void read_outgoing(const YamlNode& root) {
    const YamlNode* outgoing = root.find("outgoing");
    if (!is_whole_settings_ || outgoing == nullptr) return;
    const auto proxy_of = [](const YamlNode& network) -> const YamlNode* {
      const YamlNode* proxies = network.find("proxies");
      if (proxies != nullptr && (!proxies->entries.empty() || !proxies->items.empty())) return proxies;
      const YamlNode* tor = network.find("using_tor_proxy");
      return tor != nullptr && tor->text == "true" ? tor : nullptr;
    };
    if (const YamlNode* proxy = proxy_of(*outgoing))
      diagnostics_.error(
          proxy->place,
          "outgoing: proxies and Tor are not supported, so queries would leave from the server's own "
          "address; remove the key if they may");
    if (const YamlNode* networks = outgoing->find("networks"))
      for (const YamlEntry& network : networks->entries)
        if (proxy_of(network.second) != nullptr) proxied_networks_.insert(network.first.text);
  }

  /// Takes the engine's own embedding, or else the file's if the engine needs one.
  void take_embedding(EngineBlock& block) {
    Engine& engine = block.engine;
    const YamlNode* node = block.map.take("embedding");
    if (node != nullptr) engine.embedding = read_embedding(*node, folder_, block.diagnostics);
    const bool is_local = std::holds_alternative<VectorAccess>(engine.access);
    if (node != nullptr && !needs_vector(engine) && !is_local)
      block.error_at("embedding", "embedding: this engine does not use {vector}; leave it out");
    if (node == nullptr && (needs_vector(engine) || is_local)) engine.embedding = embedding_;
    if (auto* vectors = std::get_if<VectorAccess>(&engine.access); vectors != nullptr && engine.embedding)
      vectors->model = engine.embedding->model;
    if (needs_vector(engine) && !engine.embedding && node == nullptr)
      block.error("the engine \"" + engine.name +
                  "\" needs the query's vector; configure an endpoint with `embedding:`");
  }

  /// SearXNG allows true (every error), one status, or a list of them.
  static void take_retry_statuses(EngineBlock& block) {
    const YamlNode* node = block.map.take("retry_on_http_error");
    if (node == nullptr || (node->is_scalar() && node->text == "false")) return;
    std::vector<int>& statuses = block.engine.retry_statuses;
    if (node->is_scalar() && node->text == "true") {
      statuses = {500, 502, 503, 504};
      return;
    }
    for (const std::string& text : block.texts("retry_on_http_error"))
      if (text.size() == 3 && text.find_first_not_of("0123456789") == std::string::npos)
        statuses.push_back(std::stoi(text));
      else
        block.error_at("retry_on_http_error", "retry_on_http_error must be true, false or HTTP statuses");
  }

  static void take_query_syntax(EngineBlock& block, const EngineType& type) {
    const std::string name = block.text("query_syntax", type.query_syntax);
    if (const QuerySyntax* syntax = find_query_syntax(name)) {
      block.engine.query_syntax = syntax;
      return;
    }
    block.error_at("query_syntax",
                   "unknown query_syntax \"" + name + "\"; use one of " + names_of(query_syntaxes()));
  }

  std::string folder_;
  Diagnostics& diagnostics_;
  bool is_whole_settings_ = false;
  std::vector<Engine> engines_;
  std::vector<std::string> refused_;
  std::optional<Embedding> embedding_;
  std::map<std::string, Place> places_;
  std::set<std::string> proxied_networks_;
};

}  // namespace

Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name) {
  TRY(auto root, parse_yaml(text, name));
  Diagnostics diagnostics(name);
  FileReader reader(std::filesystem::path(name).parent_path().string(), diagnostics);
  EngineFile file = reader.read(root);
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  file.warnings = diagnostics.warnings();
  return file;
}

Result<EngineFile> read_engine_file(const std::string& path) {
  TRY(const auto text, read_config_text(path, kMaxDefinitionBytes));
  return parse_engine_file(text, path);
}

}  // namespace metafuse::fetchers
