// Reads an engines file: its blocks, and the definitions of the catalogue that they name. A whole
// settings.yml of SearXNG is rewritten first (searxng_settings.h); its blocks with mistakes are skipped.

#include "fetchers/definition/engine_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "core/digest.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/block_edit.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/searxng_settings.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/engines/vector/embedding.h"

namespace metafuse::fetchers {
namespace {

/// parse_yaml() reads less, and says what to do with a larger file.
constexpr std::size_t kMaxDefinitionBytes = std::size_t{16} << 20;

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

/// A digest of the keys of a block that determine what is asked and how the answer is read; another wait,
/// weight or description makes no other engine.
std::string digest_of(const YamlNode& block) {
  constexpr std::string_view kOthers =
      "name about searxng checked proxy shortcut description categories tokens known_queries weight "
      "max_query_bytes inactive disabled timeout connect_timeout first_byte_timeout max_connections "
      "requests_per_second retries retry_on_http_error price";
  JsonObject kept;
  for (const auto& [key, value] : block.entries) {
    bool is_other = false;
    for (std::string_view rest = kOthers; !rest.empty();)
      is_other = take_until(rest, ' ') == key.text || is_other;
    if (!is_other) kept[key.text] = json_of(value);
  }
  return sha256_hex(to_text(kept)).substr(0, 16);
}

class FileReader {
 public:
  FileReader(std::string folder, Diagnostics& diagnostics)
      : folder_(std::move(folder)), diagnostics_(diagnostics) {}

  EngineFile read(const YamlNode& root) {
    is_whole_settings_ = is_searxng_settings(root);
    return is_whole_settings_ ? read_settings(root) : read_own(root);
  }

 private:
  /// A file in our own format.
  EngineFile read_own(const YamlNode& root) {
    if (root.is_map() && root.find("engines") == nullptr) {
      diagnostics_.error(
          root.place,
          "the file has no `engines:`, and no section of SearXNG's settings.yml: it is neither "
          "of them");
      return {};
    }
    YamlMap map(root, "the file", diagnostics_);
    map.take_integer("version", 1, 1);
    const YamlNode* list = map.take("engines");
    if (list != nullptr && !list->is_list())
      diagnostics_.error(list->place, "engines must be a list: one \"- name: ...\" block per engine");
    if (const YamlNode* proxy = map.take("proxy")) proxy_ = *proxy;
    if (const YamlNode* node = map.take("embedding"))
      embedding_ = read_embedding(with_proxy(*node), folder_, diagnostics_);
    if (list != nullptr && list->is_list())
      for (const YamlNode& block : list->items) read_block(with_network(block, nullptr, false, diagnostics_));
    map.finish();
    return finished({});
  }

  /// A whole settings.yml of SearXNG; sections that have no effect here are passed over.
  EngineFile read_settings(const YamlNode& root) {
    SearxngSettings settings = read_searxng_settings(root, diagnostics_);
    const YamlNode* outgoing = root.find("outgoing");
    for (const YamlNode& block : settings.blocks) {
      Diagnostics mistakes(diagnostics_.file());
      const YamlNode connected = block.is_map() ? with_network(block, outgoing, true, mistakes) : block;
      read_block(connected, std::move(mistakes));
    }
    return finished({settings.safe_search, settings.default_language, settings.hostnames});
  }

  EngineFile finished(SearchDefaults defaults) {
    return {std::move(engines_), {}, std::move(refused_), std::move(embedding_), std::move(defaults)};
  }

  /// The block with the file's proxy, unless it has one itself; its own embedding with the block's.
  YamlNode with_proxy(YamlNode block) const {
    if (proxy_) set_proxy(block, *proxy_);
    const YamlNode* proxy = block.find("proxy");
    YamlEntry* const embedding = find_entry(block, "embedding");
    if (proxy != nullptr && embedding != nullptr) set_proxy(embedding->second, *proxy);
    return block;
  }

  static void set_proxy(YamlNode& block, const YamlNode& proxy) {
    if (block.is_map() && block.find("proxy") == nullptr) set_entry(block, "proxy", proxy);
  }

  /// A block with mistakes makes one of our own files invalid; in a SearXNG file it is skipped.
  void read_block(const YamlNode& block) { read_block(block, Diagnostics(diagnostics_.file())); }
  void read_block(const YamlNode& block, Diagnostics mistakes) {
    const std::size_t before = engines_.size();
    const std::size_t known = places_.size();
    if (!mistakes.has_errors()) read_engine(with_proxy(block), mistakes);
    if (!is_whole_settings_ || !mistakes.has_errors()) return diagnostics_.add(mistakes);
    engines_.resize(before);
    if (places_.size() > known) places_.erase(text_below(block, "name"));
    const auto is_on = [&](std::string_view key) {
      const std::string value = text_below(block, key);
      return value == "true" || value == "True" || value == "yes" || value == "on";
    };
    refused_.push_back({text_below(block, "name"), is_on("disabled") || is_on("inactive"),
                        mistakes.to_error(Code::bad_config).text});
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
    map.take("checked");
    map.take("proxy");  // which engines on this machine do not need
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
    engine.digest = digest_of(block);
    engine.is_optional = is_whole_settings_;
    take_common_keys(reading, *type);
    type->read(reading);
    if (auto* http = std::get_if<HttpAccess>(&reading.engine.access)) take_instances(reading, *http);
    refuse_protected(reading);
    take_embedding(reading);
    if (is_whole_settings_)
      for (const YamlEntry& entry : block.entries)
        if (is_as_shipped(block, entry)) map.take(entry.first.text);
    map.finish(is_whole_settings_ ? keys_of(block) : unused_searxng_keys());
    engines_.push_back(std::move(engine));
  }

  /// The block after a catalogue definition that it names has been merged in, with its parameters filled in.
  YamlNode meant_block(const YamlNode& written, Diagnostics& diagnostics) const {
    const YamlNode* type = written.find("engine");
    std::optional<YamlNode> block;
    if (type != nullptr && type->is_scalar() && find_engine_type(type->text) == nullptr)
      block = catalogue_block(written, type->text, is_whole_settings_, diagnostics);
    if (!block) block = written;
    // SearXNG passes over a block without a name; here it would take the definition's
    if (is_whole_settings_ && written.find("name") == nullptr) remove_entry(*block, "name");
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
    if (const YamlNode* tokens = block.map.take("tokens"); tokens != nullptr && !tokens->is_null())
      engine.tokens = block.texts("tokens");
    take_known_queries(block);
    block.take("weight", engine.weight, 0, 1e6);
    if (const auto most = block.map.take_integer("max_query_bytes", 1, 1 << 20))
      engine.max_query_bytes = static_cast<std::size_t>(*most);
    bool is_inactive = false;  // which SearXNG does not even load
    block.take("inactive", is_inactive);
    block.take("disabled", engine.is_disabled);
    engine.is_disabled = engine.is_disabled || is_inactive;
    block.take("timeout", engine.timeout_seconds, 0.01, 300);
    take_query_syntax(block, type);
  }

  static void take_known_queries(EngineBlock& block) {
    constexpr std::size_t kMostKnownQueries = 20, kMostBytes = 400;
    block.engine.known_queries = block.texts("known_queries");
    const auto& known = block.engine.known_queries;
    const auto is_right = [](const std::string& query) {
      return !query.empty() && query.size() <= kMostBytes;
    };
    if (known.size() > kMostKnownQueries || !std::all_of(known.begin(), known.end(), is_right))
      block.error_at("known_queries",
                     "known_queries must be at most 20 queries of 1 to 400 bytes, for which the engine has "
                     "results");
  }

  /// Queries reach an onion service through Tor, or not at all.
  static void refuse_protected(EngineBlock& block) {
    const auto* http = std::get_if<HttpAccess>(&block.engine.access);
    if (http == nullptr) return;
    std::vector<std::string> addresses = http->instances;
    addresses.insert(addresses.end(), {http->url, http->description_url});
    for (const std::string& url : addresses)
      if (is_onion_host(host_in(url)) && !http->proxy.starts_with("tor://"))
        block.error("the engine \"" + block.engine.name +
                    "\" is in the Tor network (.onion); write `proxy: tor://127.0.0.1:9050`, the address of "
                    "your Tor, into its block");
  }

  /// Every key of a block: what a settings.yml says and we do not know costs a warning, not the engine.
  static std::vector<std::string> keys_of(const YamlNode& block) {
    std::vector<std::string> keys;
    for (const YamlEntry& entry : block.entries) keys.push_back(entry.first.text);
    return keys;
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
  std::vector<RefusedBlock> refused_;
  std::optional<Embedding> embedding_;
  std::optional<YamlNode> proxy_;
  std::map<std::string, Place> places_;
};

}  // namespace

Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name) {
  auto root = parse_yaml(text, name);
  Diagnostics diagnostics(name);
  if (!root) {
    auto lenient = parse_yaml(text, name, {.may_repeat_keys = true});
    if (!lenient || !is_searxng_settings(*lenient)) return root.error();
    diagnostics.warning({}, "of repeated keys the last counts: " + root.error().text);
    root = std::move(lenient);
  }
  FileReader reader(std::filesystem::path(name).parent_path().string(), diagnostics);
  EngineFile file = reader.read(*root);
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  file.warnings = diagnostics.warnings();
  return file;
}

Result<EngineFile> read_engine_file(const std::string& path) {
  TRY(const auto text, read_config_text(path, kMaxDefinitionBytes));
  return parse_engine_file(text, path);
}

}  // namespace metafuse::fetchers
