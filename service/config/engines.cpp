#include "service/config/engines.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/ascii.h"
#include "core/text_file.h"
#include "fetchers/definition/engine.h"
#include "fetchers/make_fetcher.h"
#include "service/base/digest.h"

namespace metafuse::service {
namespace {

using fetchers::Engine;

constexpr std::size_t kMaxEngineFileBytes = std::size_t{16} << 20;

Duration engine_duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

fetchers::FetcherOptions fetcher_options(const ServerConfig& config, const SecretLookup& secret_of) {
  using Recording = fetchers::FetcherOptions::Recording;
  fetchers::FetcherOptions options;
  options.allow_private = config.allow_private;
  options.own_addresses = {config.listen_host + ":" + std::to_string(config.port)};
  if (config.recordings.mode == RecordingsConfig::Mode::record) options.recording = Recording::record;
  if (config.recordings.mode == RecordingsConfig::Mode::replay) options.recording = Recording::replay;
  if (options.recording != Recording::off)
    options.recording_file = (std::filesystem::path(config.recordings.directory) / "archive.har").string();
  options.secret_of = secret_of;
  options.learned_wait = {config.learned_wait.is_on, engine_duration(config.learned_wait.floor_seconds),
                          engine_duration(config.learned_wait.ceiling_seconds)};
  options.tracking = config.tracking;
  return options;
}

EngineTraits traits_of(const Engine& engine) {
  EngineTraits out{engine.shortcut.empty() ? engine.name : engine.shortcut,
                   true,
                   false,
                   false,
                   false,
                   engine.timeout_seconds,
                   engine.description};
  if (const auto* http = std::get_if<fetchers::HttpAccess>(&engine.access)) {
    out.has_paging = http->paging.is_on;
    out.has_language = (http->url + http->body).find("{lang}") != std::string::npos;
    out.has_time_range = http->time_ranges.is_on;
    out.has_safe_search = http->safe_search.is_on;
  } else if (const auto* sqlite = std::get_if<fetchers::SqliteAccess>(&engine.access)) {
    out.has_paging = sqlite->statement.find(":offset") != std::string::npos;
  } else if (std::holds_alternative<fetchers::CommandAccess>(engine.access)) {
    out.has_paging = false;
  }
  return out;
}

void note_forwarded(const Engine& engine, std::vector<std::string>& names) {
  const auto* http = std::get_if<fetchers::HttpAccess>(&engine.access);
  if (http == nullptr || engine.is_disabled) return;
  for (const std::string& name : http->auth.forwarded)
    if (const std::string lower = ascii_lower(name);
        std::find(names.begin(), names.end(), lower) == names.end())
      names.push_back(lower);
}

}  // namespace

Result<LoadedEngines> load_engines(const ServerConfig& config, const SecretLookup& secret_of) {
  LoadedEngines out;
  std::vector<Engine> engines;
  std::map<std::string, std::string> file_of;
  std::map<std::string, const QuerySyntax*, std::less<>> syntaxes;
  std::map<std::string, std::shared_ptr<const IndexVocabulary>> by_database;
  const auto vocabulary_of = [&](const std::string& database) {
    auto& vocabulary = by_database[database];  // several engines may use one index
    if (vocabulary == nullptr) vocabulary = std::make_shared<const IndexVocabulary>(database);
    return vocabulary;
  };
  std::string mistakes;
  std::string defined;
  for (const std::string& file : config.engines) {
    if (const auto text = read_text(file, kMaxEngineFileBytes)) defined += sha256_hex(*text);
    auto read = fetchers::read_engine_file(file);
    if (!read) {
      mistakes += (mistakes.empty() ? "" : "\n") + read.error().text;
      continue;
    }
    out.warnings.insert(out.warnings.end(), read->warnings.begin(), read->warnings.end());
    for (Engine& engine : read->engines) {
      if (const auto [at, is_new] = file_of.emplace(engine.name, file); !is_new)
        mistakes += (mistakes.empty() ? "" : "\n") + file + ": engine " + engine.name +
                    " is also defined in " + at->second + "; rename one";
      out.names.push_back(engine.name);
      syntaxes[engine.name] = engine.query_syntax;
      out.traits[engine.name] = traits_of(engine);
      if (const auto* local = std::get_if<fetchers::LocalAccess>(&engine.access))
        out.vocabularies[engine.name] = vocabulary_of(local->database);
      note_forwarded(engine, out.forwarded);
      engines.push_back(std::move(engine));
    }
  }
  if (!mistakes.empty()) return fail(Code::bad_config, mistakes);
  for (const auto* names : {&config.tracking.names, &config.tracking.prefixes}) {
    for (const std::string& name : *names) defined += ' ' + name;
    defined += '\n';
  }
  out.digest = sha256_hex(defined);
  TRY(auto fetcher, fetchers::make_fetcher(std::move(engines), fetcher_options(config, secret_of)));
  out.fetcher = std::move(fetcher);
  out.syntax_of = [syntaxes](std::string_view name) -> const QuerySyntax& {
    const auto at = syntaxes.find(name);
    return at == syntaxes.end() || at->second == nullptr ? default_query_syntax() : *at->second;
  };
  return out;
}

}  // namespace metafuse::service
