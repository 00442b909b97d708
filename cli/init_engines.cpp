#include "cli/init_engines.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"
#include "fetchers/calling/trial.h"
#include "fetchers/definition/catalogue.h"

namespace metafuse::cli {
namespace {

using fetchers::CatalogueEntry;

constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;
constexpr std::string_view kServiceEnvironment = "/etc/metafuse/environment";  // as the unit names it

/// A row of the table of kinds that `--engine KIND=ADDRESS#NAME` accepts, with the definition's keys for
/// ADDRESS and NAME.
struct InitEngineKind {
  std::string_view name;
  std::string_view address_key;
  std::string_view name_key;  ///< empty: the kind has no NAME
  std::string_view more{};    ///< additional lines of the definition
  bool needs_name = true;     ///< matters only if there is a name_key
  bool has_phrases = true;    ///< add a second template, which searches the query as a phrase
};

constexpr std::array kInitEngineKinds = {
    InitEngineKind{"searx_engine", "base_url", "", "    query_syntax: google\n"},
    InitEngineKind{"metafuse", "base_url", "domain", "", false},
    InitEngineKind{"mediawiki", "base_url", ""},
    InitEngineKind{"opensearch_description", "description_url", ""},
    InitEngineKind{"elasticsearch", "base_url", "index", "    query_type: simple_query_string\n"},
    InitEngineKind{"opensearch", "base_url", "index", "    query_type: simple_query_string\n"},
    InitEngineKind{"solr", "base_url", "collection"},
    InitEngineKind{"meilisearch", "base_url", "index"},
    InitEngineKind{"typesense", "base_url", "collection", "    query_by: title,content\n", true, false},
    InitEngineKind{"groonga", "base_url", "table"},
    InitEngineKind{"omega", "base_url", "database", "", false},
    InitEngineKind{
        "postgresql", "connection", "table",
        "    # full_text, or trigram; which columns hold what: columns: {url: url, title: title, content: "
        "content}\n    search: full_text\n"},
    InitEngineKind{"mariadb", "host", "table",
                   "    database: {DATABASE}\n    # The table needs FULLTEXT(title, content).\n"
                   "    # username: reader\n    # password: \"${DB_PASSWORD}\"\n",
                   true, false},
    InitEngineKind{"odbc", "connection", "table",
                   "    query_str: SELECT url, title, content FROM {NAME} WHERE content LIKE :wildcard\n",
                   true, false},
    InitEngineKind{"sqlite", "database", "table",
                   "    query_str: SELECT url, title, content FROM {NAME} WHERE content LIKE :wildcard LIMIT "
                   ":limit OFFSET "
                   ":offset\n",
                   true, false},
};

std::string template_of(std::string_view engine) {
  return fmt::format("  - {{id: {0}, engine: {0}, query: '{{QUERY}}'}}\n", engine);
}

/// What the user typed for `--engine`, in parts.
struct TypedEngine {
  const InitEngineKind* kind = nullptr;
  std::string address, name, database;
};

/// Reads KIND=ADDRESS#NAME, split at the last #.
Result<TypedEngine> typed_engine(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals);
  const auto found = std::find_if(kInitEngineKinds.begin(), kInitEngineKinds.end(),
                                  [&](const InitEngineKind& one) { return one.name == kind; });
  const bool is_kind = found != kInitEngineKinds.end();
  if (!is_kind || equals == std::string::npos)
    return fail(Code::usage, "--engine " + text + ": write KIND=ADDRESS#NAME" +
                                 (is_kind ? "" : did_you_mean(kind, names_of(kInitEngineKinds))));
  TypedEngine typed{found, text.substr(equals + 1), {}, {}};
  std::string& address = typed.address;
  const bool has_name = !found->name_key.empty();
  if (const std::size_t hash = address.rfind('#'); hash != std::string::npos && has_name) {
    typed.name = address.substr(hash + 1);
    address.erase(hash);
  }
  if (found->address_key.ends_with("_url") && address.find("://") == std::string::npos)
    return fail(Code::usage, "\"" + address + "\": begin the address with http:// or https://");
  if (found->more.find("{DATABASE}") != std::string_view::npos) {  // the address is HOST/DATABASE
    const std::size_t slash = address.rfind('/');
    if (slash == std::string::npos)
      return fail(Code::usage, "--engine " + text + ": write " + kind + "=HOST/DATABASE#TABLE");
    typed.database = address.substr(slash + 1);
    address.erase(slash);
  }
  if (address.empty() || (found->needs_name && has_name && typed.name.empty()))
    return fail(Code::usage,
                fmt::format("--engine {}: write {}=ADDRESS{}", text, kind,
                            has_name ? fmt::format("#NAME, where NAME is the {}", found->name_key) : ""));
  return typed;
}

/// in: used - how many engines of each kind came before; used to make engine names unique
InitEngine init_engine(const TypedEngine& typed, std::map<std::string_view, int>& used) {
  const InitEngineKind& kind = *typed.kind;
  const int number = ++used[kind.name];
  const std::string id = number == 1 ? std::string(kind.name) : fmt::format("{}-{}", kind.name, number);
  const bool is_in_statement = kind.more.find("{NAME}") != std::string_view::npos;
  InitEngine engine;
  engine.definition = fmt::format("  - name: {}\n    engine: {}\n    {}: {}\n", id, kind.name,
                                  kind.address_key, to_text(Json(typed.address)));
  if (!typed.name.empty() && !is_in_statement)
    engine.definition += fmt::format("    {}: {}\n", kind.name_key, to_text(Json(typed.name)));
  std::string more(kind.more);
  for (const auto& [mark, value] :
       {std::pair<std::string_view, std::string_view>("{NAME}", typed.name), {"{DATABASE}", typed.database}})
    if (const std::size_t at = more.find(mark); at != std::string::npos) more.replace(at, mark.size(), value);
  engine.definition += more + "    timeout: 3.0\n";
  engine.templates = template_of(id);
  if (kind.has_phrases)
    engine.templates += fmt::format(
        "  - {{id: {0}-phrase, label: '{0}, phrase', engine: {0}, query: '{{QUERY|phrase}}'}}\n", id);
  return engine;
}

/// Collects the names in "${NAME}" of a definition.
void note_secrets(std::string_view text, std::vector<std::string>& secrets) {
  for (std::size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at + 2)) {
    const std::string name(text.substr(at + 2, text.find('}', at) - at - 2));
    if (std::find(secrets.begin(), secrets.end(), name) == secrets.end()) secrets.push_back(name);
  }
}

Result<void> add_preset(const std::string& name, InitEngines& out) {
  std::vector<std::string> known;
  bool is_found = false;
  for (const CatalogueEntry& entry : fetchers::catalogue()) {
    known.push_back(entry.name);
    if (std::find(known.begin(), known.end(), entry.kind) == known.end()) known.push_back(entry.kind);
    const bool is_of_kind = entry.kind == name && entry.about("require_api_key") != "true" &&
                            entry.text.find("${") == std::string_view::npos;
    if (entry.name != name && !is_of_kind) continue;
    std::string definition(entry.text);
    if (!definition.ends_with('\n')) definition += '\n';
    note_secrets(definition, out.secrets);
    is_found = true;
    const bool is_known = std::any_of(out.engines.begin(), out.engines.end(),
                                      [&](const InitEngine& one) { return one.definition == definition; });
    if (!is_known) out.engines.push_back({std::move(definition), template_of(entry.name)});
    if (entry.name == name) return {};
  }
  if (is_found) return {};
  return fail(Code::usage,
              fmt::format("--preset {}: not an engine or kind of the catalogue{}; see metafuse engines list",
                          name, did_you_mean(name, known)));
}

Result<void> add_api(const std::string& url, InitEngines& out) {
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(Code::usage, "--api " + url + ": write the URL of a search, https://host/search?q=otter");
  const std::string name = out.engines.empty() ? "api" : fmt::format("api-{}", out.engines.size() + 1);
  TRY(auto guessed, guess_engine(url, name, ""));
  if (guessed.definition.find("{query}") == std::string::npos)
    return fail(
        Code::usage,
        "--api " + url +
            ": cannot tell which part is the query; write {query} in its place, or name its parameter q");
  if (guessed.found.hits.empty())
    return fail(
        Code::bad_data,
        "--api " + url + ": no results in the answer; use a query that finds some, such as ?q=a-common-word");
  out.remarks.push_back(fmt::format("{}: {} results, the first \"{}\" at {}; check engines.yaml", url,
                                    guessed.found.hits.size(),
                                    fetchers::printable(guessed.found.hits.front().title),
                                    fetchers::printable(guessed.found.hits.front().url)));
  out.engines.push_back({guessed.definition.substr(guessed.definition.find('\n') + 1) + "    timeout: 5.0\n",
                         template_of(name)});
  return {};
}

}  // namespace

bool find_preset(const std::string& name) {
  const auto& all = fetchers::catalogue();
  return std::any_of(all.begin(), all.end(),
                     [&](const CatalogueEntry& entry) { return entry.name == name || entry.kind == name; });
}

std::string steps_for_secrets(const InitEngines& others, bool is_system) {
  if (others.secrets.empty()) return {};
  const std::string file(kServiceEnvironment);
  std::string out = is_system ? "  touch " + file + " && chmod 600 " + file + "\n" : std::string();
  for (const std::string& secret : others.secrets)
    out += is_system ? fmt::format("  echo '{}=...' >> {}   # the engine's key\n", secret, file)
                     : fmt::format("  export {}=...   # the engine's key\n", secret);
  return is_system ? out + "  set -a; . " + file + "; set +a   # for the next lines\n" : out;
}

Result<InitEngines> init_engines(const std::vector<std::string>& asked,
                                 const std::vector<std::string>& presets,
                                 const std::vector<std::string>& apis) {
  InitEngines out;
  std::map<std::string_view, int> used;
  for (const std::string& one : asked) {
    TRY(const auto typed, typed_engine(one));
    out.engines.push_back(init_engine(typed, used));
  }
  for (const std::string& name : presets) TRY_VOID(add_preset(name, out));
  for (const std::string& url : apis) TRY_VOID(add_api(url, out));
  return out;
}

Result<GuessedEngine> guess_engine(const std::string& source, const std::string& name,
                                   const std::string& content_type) {
  fetchers::AnswerContext context{"https://host.example/", content_type, ""};
  std::string search_url = "https://host.example/search?q={query}";
  std::string body;
  if (source.starts_with("http://") || source.starts_with("https://")) {
    std::string asked = source;
    const std::size_t mark = asked.find("{query}");
    if (mark != std::string::npos) asked.replace(mark, 7, "test");
    TRY(auto page, fetchers::fetch_page(asked));
    body = std::move(page.body);
    context.url = page.url;
    if (context.content_type.empty()) context.content_type = page.header("content-type");
    search_url = mark != std::string::npos ? source : fetchers::search_url_of(source);
  } else {
    TRY(body, read_text(source, kMaxAnswerBytes));
  }
  const auto rules = fetchers::guess_rules(body, context);
  if (!rules) return fail(rules.error().code, source + ": " + rules.error().text);
  GuessedEngine out{fetchers::definition_text(*rules, name, search_url), {}};
  if (auto list = fetchers::parse_answer(*rules, body, context)) out.found = std::move(*list);
  return out;
}

}  // namespace metafuse::cli
