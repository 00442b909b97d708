#include "fetchers/definition/engine_types.h"

#include <array>

#include "core/text.h"
#include "fetchers/engines/command/command_engine.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/engines/http/rerank_exchange.h"
#include "fetchers/engines/index/index_readers.h"
#include "fetchers/engines/sql/sql_readers.h"

namespace metafuse::fetchers {
namespace {

// A new type is a reader in a room of fetchers/engines/ and a row here and in the table of docs/engines.md.
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
    EngineType{"rerank", "a reranker, which orders the results of other engines", "plain", read_rerank},
    EngineType{"sqlite", "a SQLite file, by your own SELECT", "plain", read_sqlite},
    EngineType{"postgresql", "PostgreSQL: full text, trigrams, vectors, or your own SELECT", "plain",
               read_postgresql},
    EngineType{"mariadb", "MariaDB or MySQL: full text, or your own SELECT", "plain", read_mariadb},
    EngineType{"odbc", "any database with an ODBC driver, by your own SELECT", "plain", read_odbc},
    EngineType{"command", "a program that prints one result per line", "plain", read_command},
};

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
    "max_pool_connections pool_connections pool_maxsize region result_template "
    "search_path search_type send_accept_language_header "
    "show_metadata supported_languages timestamp_format use_mobile_ui "
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

bool is_python_engine(std::string_view name) {
  for (std::string_view rest = kPythonEngines; !rest.empty();)
    if (take_until(rest, ' ') == name) return true;
  return false;
}

std::vector<std::string> unused_searxng_keys() {
  std::vector<std::string> keys;
  for (std::string_view rest = kUnusedKeys; !rest.empty();) keys.emplace_back(take_until(rest, ' '));
  return keys;
}

}  // namespace metafuse::fetchers
