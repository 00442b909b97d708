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
    EngineType{"json_engine", "any JSON answer, by key paths", "web", read_json_engine},
    EngineType{"xpath", "any HTML page, by XPath", "web", read_xpath_engine},
    EngineType{"xml_engine", "RSS, Atom and OpenSearch without further keys, other XML by XPath", "web",
               read_xml_engine},
    EngineType{"opensearch_description", "a site with an OpenSearch description document", "web",
               read_opensearch_description},
    EngineType{"elasticsearch", "Elasticsearch and OpenSearch", "elasticsearch", read_elasticsearch},
    EngineType{"opensearch", "OpenSearch", "elasticsearch", read_opensearch},
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
    EngineType{"mongodb", "MongoDB and Atlas: text, a field, vectors, or your own pipeline", "plain",
               read_mongodb},
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

bool is_tokenizer(std::string_view name) {
  return name == "unicode61" || name == "porter" || name == "trigram";
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

void check_placeholders(EngineBlock& block, const CommandAccess& access, const YamlNode& node) {
  const auto& words = access.arguments;
  if (words.empty()) return block.diagnostics.error(node.place, "command must not be empty");
  if (words.front().empty() || words.front().front() != '/')
    block.diagnostics.error(node.place, "the program must be an absolute path, for example /usr/bin/locate");
  if (std::count(words.begin(), words.end(), "{{QUERY}}") == 0)
    block.diagnostics.error(node.place,
                            "command has no argument \"{{QUERY}}\"; add it where the query belongs");
  for (const std::string& word : words)
    if (word != "{{QUERY}}" && word.find("{{QUERY}}") != std::string::npos)
      block.diagnostics.error(node.place,
                              "\"{{QUERY}}\" must be a whole argument, not part of \"" + word + "\"");
}

}  // namespace

void read_local(EngineBlock& block) {
  LocalAccess access;
  access.database = take_database(block);
  access.order_by = block.map.take_string("order_by").value_or("");
  access.tokenizer = block.map.take_string("tokenizer").value_or("");
  if (const YamlNode* tokenizer = block.map.take("tokenizer");
      tokenizer != nullptr && !access.tokenizer.empty() && !is_tokenizer(access.tokenizer))
    block.diagnostics.error(tokenizer->place, "tokenizer must be unicode61, porter or trigram");
  const YamlNode* node = block.map.take("weights");
  for (const auto& [column, text] : block.map.take_string_map("weights")) {
    double weight = 0;
    if (to_double(text, weight) && weight >= 0 && weight <= 1e6)
      access.weights.emplace_back(column, weight);
    else
      block.diagnostics.error(node->find(column)->place,
                              "the weight of " + column + " must be a number from 0 to 1e6");
  }
  block.engine.access = std::move(access);
}

void read_local_cosine(EngineBlock& block) {
  block.engine.access = CosineAccess{take_database(block)};
}

void read_local_vector(EngineBlock& block) {
  VectorAccess access;
  access.database = take_database(block);
  access.min_score = block.map.take_number("min_score", -1, 1).value_or(0);
  block.engine.access = std::move(access);
}

void read_sqlite(EngineBlock& block) {
  SqliteAccess access;
  access.database = take_database(block);
  access.statement = block.map.take_required_string("query_str");
  access.url_format = block.map.take_string("url_format").value_or("");
  block.map.take("limit");
  const YamlNode* node = block.map.take("query_str");
  const std::size_t first = access.statement.find_first_not_of(" \t\r\n");
  const bool is_select = first != std::string::npos && (access.statement.compare(first, 6, "SELECT") == 0 ||
                                                        access.statement.compare(first, 6, "select") == 0 ||
                                                        access.statement.compare(first, 4, "WITH") == 0 ||
                                                        access.statement.compare(first, 4, "with") == 0);
  if (node != nullptr && node->is_scalar()) {
    if (!is_select) block.diagnostics.error(node->place, "query_str must be a SELECT");
    if (access.statement.find(":query") == std::string::npos &&
        access.statement.find(":wildcard") == std::string::npos)
      block.diagnostics.error(node->place, "query_str must contain :query or :wildcard");
  }
  block.engine.access = std::move(access);
}

void read_command(EngineBlock& block) {
  CommandAccess access;
  if (const YamlNode* node = block.map.take_required("command")) {
    access.arguments = block.map.take_strings("command").value_or(std::vector<std::string>());
    check_placeholders(block, access, *node);
  }
  if (const YamlNode* node = block.map.take("delimiter")) {
    YamlMap map(*node, "delimiter", block.diagnostics);
    if (auto chars = map.take_string("chars")) access.delimiter = *chars;
    if (auto keys = map.take_strings("keys")) access.fields = *keys;
    map.finish();
    if (access.delimiter.empty()) block.diagnostics.error(node->place, "delimiter: chars must not be empty");
    if (std::find(access.fields.begin(), access.fields.end(), "url") == access.fields.end())
      block.diagnostics.error(node->place, "delimiter: keys must include url");
  }
  access.url_prefix = block.map.take_string("url_prefix").value_or("");
  if (auto bytes = block.map.take_integer("max_output_bytes", 1, 64 << 20))
    access.max_bytes = static_cast<std::size_t>(*bytes);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
