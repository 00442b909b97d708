#include "fetchers/definition/engine_types.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/number.h"

namespace metafuse::fetchers {
namespace {

constexpr std::array kTypes = {
    EngineType{"local", "a full-text index built by metafuse index", "fts5", read_local},
    EngineType{"local_vector", "a vector index built by metafuse index, ordered by cosine", "plain",
               read_local_vector},
    EngineType{"local_cosine",
               "an index built by metafuse index --cosine: shared words, stems and parts of words", "fts5",
               read_local_cosine},
    EngineType{"json_engine", "any JSON answer, by key paths", "web", read_by_paths},
    EngineType{"xpath", "any HTML page, by XPath", "web", read_by_paths},
    EngineType{"xml_engine", "RSS, Atom and OpenSearch without further keys, other XML by XPath", "web",
               read_by_paths},
    EngineType{"opensearch_description", "a site with an OpenSearch description document", "web",
               read_opensearch_description},
    EngineType{"elasticsearch", "Elasticsearch and OpenSearch", "elasticsearch", read_elasticsearch},
    EngineType{"opensearch", "OpenSearch", "elasticsearch", read_elasticsearch},
    EngineType{"solr", "Apache Solr", "solr", read_solr},
    EngineType{"meilisearch", "Meilisearch", "plain", read_meilisearch},
    EngineType{"mediawiki", "MediaWiki, Wikipedia", "mediawiki", read_mediawiki},
    EngineType{"groonga", "Groonga's HTTP server", "groonga", read_groonga},
    EngineType{"omega", "Xapian Omega", "xapian", read_omega},
    EngineType{"typesense", "Typesense: words, vectors, or both", "plain", read_typesense},
    EngineType{"algolia", "Algolia", "plain", read_algolia},
    EngineType{"qdrant", "Qdrant, by the query's vector", "plain", read_qdrant},
    EngineType{"weaviate", "Weaviate, by the query's vector", "plain", read_weaviate},
    EngineType{"milvus", "Milvus, by the query's vector", "plain", read_milvus},
    EngineType{"pinecone", "Pinecone, by the query's vector", "plain", read_pinecone},
    EngineType{"vespa", "Vespa, by the query's vector", "plain", read_vespa},
    EngineType{"searx_engine", "another SearXNG", "web", read_searx_engine},
    EngineType{"metafuse", "another metafuse", "web", read_metafuse},
    EngineType{"sqlite", "a SQLite file, by your own SELECT", "plain", read_sqlite},
    EngineType{"postgresql", "PostgreSQL: full text, trigrams, vectors, or your own SELECT", "plain",
               read_postgresql},
    EngineType{"mariadb", "MariaDB or MySQL: full text, or your own SELECT", "plain", read_mariadb},
    EngineType{"odbc", "any database with an ODBC driver, by your own SELECT", "plain", read_odbc},
    EngineType{"command", "a program that prints one result per line", "plain", read_command},
};

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// The names of SearXNG's engine modules, sorted.
constexpr std::string_view kPythonEngines =
    "1337x 360search 360search_videos 9gag acfun adobe_stock ahmia alpinelinux annas_archive ansa "
    "apkmirror apple_app_store apple_maps archlinux artic artstation arxiv ask astrophysics_data_system "
    "baidu bandcamp base bilibili bing bing_images bing_news bing_videos bitchute bpb brave bt4g btdigg "
    "cachy_os ccengine chinaso cloudflareai core crates crossref currency_convert dailymotion deepl "
    "deezer demo_offline demo_online destatis deviantart devicons dictzone digbt digg discourse "
    "docker_hub doku duckduckgo duckduckgo_definitions duckduckgo_extra duckduckgo_weather duden dummy "
    "dummy-offline ebay emojipedia etools fdroid filecoin findthatmeme flickr flickr_noapi freesound "
    "frinkiac fyyd genius geizhals gitea github github_code gitlab goodreads google google_cse "
    "google_images google_news google_play google_scholar google_videos grokipedia hackernews hex "
    "huggingface il_post imdb imgur ina invidious ipernity iqiyi jisho kickass lemmy libretranslate "
    "lib_rs lingva livespace loc lucide marginalia mastodon material_icons metacpan "
    "microsoft_learn mixcloud mojeek moviepilot mozhi mrs mullvad_leta mwmbl naver "
    "niconico npm nvd nyaa odysee ollama open_meteo openalex openclipart openlibrary openstreetmap "
    "openverse packagist pdbe peertube pexels photon pinterest piped piratebay pixabay pixiv pkg_go_dev "
    "podcastindex presearch public_domain_image_archive pubmed pypi qwant radio_browser "
    "recoll reddit reuters rottentomatoes rumble scanr_structures searchcode_code searchmysite "
    "semantic_scholar senscritique sepiasearch seznam skg sogou sogou_images sogou_videos sogou_wechat "
    "sourcehut soundcloud spotify springer stackexchange startpage steam stract svgrepo tagesschau "
    "tineye tokyotoshokan tootfinder torznab translated tubearchivist unsplash uxwing valkey_server "
    "vimeo voidlinux wallhaven wikicommons wikidata wikipedia wolframalpha_api wolframalpha_noapi "
    "wordnik wttr www1x xapian yacy yahoo yahoo_news yandex yandex_music yep youtube_api youtube_noapi "
    "yummly zlibrary";

constexpr std::string_view kUnusedKeys =
    "cached_url cached_xpath collection_name connection_timeout display_error_messages "
    "display_type enable_http enable_http2 extra_proxy_timeout index keep_alive "
    "keepalive_expiry language language_support local_addresses max_keepalive_connections "
    "max_pool_connections network pool_connections pool_maxsize proxies region result_template "
    "search_path search_type send_accept_language_header "
    "show_metadata supported_languages timestamp_format tokens use_mobile_ui using_tor_proxy "
    "verify_ssl";

}  // namespace

std::span<const EngineType> engine_types() {
  return kTypes;
}

const EngineType* find_engine_type(std::string_view name) {
  if (name == "xml" || name == "rss" || name == "atom") name = "xml_engine";
  if (name == "json") name = "json_engine";
  if (name == "mariadb_server" || name == "mysql_server" || name == "mysql") name = "mariadb";
  for (const EngineType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

bool is_made_of(std::string_view text, std::string_view allowed, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return allowed.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  });
}

std::string EngineBlock::text(std::string_view key, std::string_view preset) {
  return map.take_string(key).value_or(std::string(preset));
}

std::vector<std::string> EngineBlock::texts(std::string_view key) {
  return map.take_strings(key).value_or(std::vector<std::string>());
}

void EngineBlock::take(std::string_view key, std::string& value) {
  if (auto text = map.take_string(key)) value = std::move(*text);
}

void EngineBlock::take(std::string_view key, bool& value) {
  value = map.take_bool(key).value_or(value);
}

void EngineBlock::take(std::string_view key, double& value, double low, double high) {
  value = map.take_number(key, low, high).value_or(value);
}

void EngineBlock::error_at(std::string_view key, const std::string& text) {
  const YamlNode* node = map.take(key);
  diagnostics.error(node == nullptr ? map.place() : node->place, text);
}

void EngineBlock::check(std::string_view key, bool is_right, const std::string& text) {
  if (const YamlNode* node = map.take(key); !is_right && node != nullptr && node->is_scalar())
    diagnostics.error(node->place, std::string(key) + ": " + text);
}

void EngineBlock::check(std::string_view key, const Result<void>& checked) {
  if (!checked) check(key, false, checked.error().text);
}

bool is_python_engine(std::string_view name) {
  const auto names = words_in(kPythonEngines);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> unused_searxng_keys() {
  return words_in(kUnusedKeys);
}

namespace {

std::string take_database(EngineBlock& block) {
  const std::string path = block.map.take_required_string("database");
  return path.empty() ? path : (std::filesystem::path(block.folder) / path).string();
}

void check_command(EngineBlock& block, const std::vector<std::string>& words) {
  if (words.empty()) return block.error_at("command", "command must not be empty");
  if (!words.front().starts_with('/'))
    block.error_at("command", "the program must be an absolute path, for example /usr/bin/locate");
  if (std::count(words.begin(), words.end(), "{{QUERY}}") == 0)
    block.error_at("command", "command has no argument \"{{QUERY}}\"; add it where the query belongs");
  for (const std::string& word : words)
    if (word != "{{QUERY}}" && word.find("{{QUERY}}") != std::string::npos)
      block.error_at("command", "\"{{QUERY}}\" must be a whole argument, not part of \"" + word + "\"");
}

}  // namespace

void read_local(EngineBlock& block) {
  auto& access = block.engine.access.emplace<LocalAccess>();
  access.database = take_database(block);
  block.take("order_by", access.order_by);
  block.take("tokenizer", access.tokenizer);
  const std::string& name = access.tokenizer;
  if (!name.empty() && name != "unicode61" && name != "porter" && name != "trigram")
    block.error_at("tokenizer", "tokenizer must be unicode61, porter or trigram");
  const YamlNode* node = block.map.take("weights");
  for (const auto& [column, text] : block.map.take_string_map("weights")) {
    double weight = 0;
    if (to_double(text, weight) && weight >= 0 && weight <= 1e6)
      access.weights.emplace_back(column, weight);
    else
      block.diagnostics.error(node->find(column)->place,
                              "the weight of " + column + " must be a number from 0 to 1e6");
  }
}

void read_local_cosine(EngineBlock& block) {
  block.engine.access = CosineAccess{take_database(block)};
}

void read_local_vector(EngineBlock& block) {
  auto& access = block.engine.access.emplace<VectorAccess>();
  access.database = take_database(block);
  block.take("min_score", access.min_score, -1, 1);
}

void read_sqlite(EngineBlock& block) {
  auto& access = block.engine.access.emplace<SqliteAccess>();
  access.database = take_database(block);
  access.statement = block.map.take_required_string("query_str");
  block.take("url_format", access.url_format);
  block.map.take("limit");
  const YamlNode* node = block.map.take("query_str");
  if (node == nullptr || !node->is_scalar()) return;
  const std::string& text = access.statement;
  const std::string_view begin =
      std::string_view(text).substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (!begin.starts_with("SELECT") && !begin.starts_with("select") && !begin.starts_with("WITH") &&
      !begin.starts_with("with"))
    block.diagnostics.error(node->place, "query_str must be a SELECT");
  if (text.find(":query") == std::string::npos && text.find(":wildcard") == std::string::npos)
    block.diagnostics.error(node->place, "query_str must contain :query or :wildcard");
}

void read_command(EngineBlock& block) {
  auto& access = block.engine.access.emplace<CommandAccess>();
  if (block.map.take_required("command") != nullptr) {
    access.arguments = block.texts("command");
    check_command(block, access.arguments);
  }
  if (const YamlNode* node = block.map.take("delimiter")) {
    EngineBlock reading = block.inner(*node, "delimiter");
    reading.take("chars", access.delimiter);
    if (auto keys = reading.map.take_strings("keys")) access.fields = *keys;
    reading.map.finish();
    if (access.delimiter.empty()) reading.error("delimiter: chars must not be empty");
    if (std::find(access.fields.begin(), access.fields.end(), "url") == access.fields.end())
      reading.error("delimiter: keys must include url");
  }
  block.take("url_prefix", access.url_prefix);
  block.take("max_output_bytes", access.max_bytes, 1, 64 << 20);
}

}  // namespace metafuse::fetchers
