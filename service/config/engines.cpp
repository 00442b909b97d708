#include "service/config/engines.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/digest.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/calling/embedder.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "service/base/dates.h"

namespace metafuse::service {
namespace {

using fetchers::Engine;

constexpr std::size_t kMaxEngineFileBytes = std::size_t{16} << 20;

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
  options.learned_wait = {config.learned_wait.is_on, duration_of(config.learned_wait.floor_seconds),
                          duration_of(config.learned_wait.ceiling_seconds)};
  options.tracking = config.tracking;
  return options;
}

EngineTraits traits_of(const Engine& engine) {
  EngineTraits out;
  out.shortcut = engine.shortcut.empty() ? engine.name : engine.shortcut;
  out.timeout_seconds = engine.timeout_seconds;
  out.description = engine.description;
  out.is_embedded = std::holds_alternative<fetchers::LocalAccess>(engine.access) ||
                    std::holds_alternative<fetchers::VectorAccess>(engine.access) ||
                    std::holds_alternative<fetchers::CosineAccess>(engine.access);
  out.categories = engine.categories;
  if (const auto* http = std::get_if<fetchers::HttpAccess>(&engine.access)) {
    out.is_reranker = http->rerank != fetchers::RerankApi::none;
    out.price = http->price;
    out.has_paging = http->paging.is_on;
    out.has_language = (http->url + http->body).find("{lang}") != std::string::npos;
    out.has_time_range = http->time_ranges.is_on;
    out.has_safe_search = http->safe_search.is_on;
  } else if (const auto* sqlite = std::get_if<fetchers::SqliteAccess>(&engine.access)) {
    out.has_paging = sqlite->statement.find(":offset") != std::string::npos;
  } else {
    out.has_paging = !std::holds_alternative<fetchers::CommandAccess>(engine.access);
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

/// What the files of engines hold, while they are read one after the other.
class EngineFiles {
 public:
  explicit EngineFiles(const ServerConfig& config) : config_(config) {}

  void add(const std::string& file) {
    if (const auto text = read_text(file, kMaxEngineFileBytes)) defined_ += sha256_hex(*text);
    auto read = fetchers::read_engine_file(file);
    if (!read) return note(read.error().text);
    loaded_.warnings.insert(loaded_.warnings.end(), read->warnings.begin(), read->warnings.end());
    if (read->defaults.safe_search > 0) loaded_.safe_search = read->defaults.safe_search;
    if (!read->defaults.language.empty()) loaded_.language = read->defaults.language;
    if (!read->defaults.hostnames.empty()) hostnames_ = read->defaults.hostnames;
    for (Engine& engine : read->engines) {
      if (const auto [at, is_new] = file_of_.emplace(engine.name, file); !is_new)
        note(file + ": engine " + engine.name + " is also defined in " + at->second + "; rename one");
      add(engine);
      engines_.push_back(std::move(engine));
    }
  }

  Result<LoadedEngines> finish(const SecretLookup& secret_of,
                               std::shared_ptr<fetchers::EarlierFetchers> earlier) {
    if (!mistakes_.empty()) return fail(Code::bad_config, mistakes_);
    for (const auto* names : {&config_.tracking.names, &config_.tracking.prefixes}) {
      for (const std::string& name : *names) defined_ += ' ' + name;
      defined_ += '\n';
    }
    defined_ += config_.tracking.same_page->text();
    loaded_.digest = sha256_hex(defined_);
    for (const auto& [database, embedding] : embeddings_) {
      TRY(loaded_.embed_texts[database],
          fetchers::make_embed_texts(embedding, secret_of, config_.allow_private));
    }
    for (const auto& [database, embedding] : disabled_embeddings_)
      if (auto embed = fetchers::make_embed_texts(embedding, secret_of, config_.allow_private))
        loaded_.embed_texts.emplace(database, std::move(*embed));
    auto options = fetcher_options(config_, secret_of);
    options.hostnames = std::move(hostnames_);
    options.earlier = std::move(earlier);
    TRY(loaded_.fetcher, fetchers::make_fetcher(std::move(engines_), std::move(options)));
    loaded_.syntax_of = [syntaxes = std::move(syntaxes_)](std::string_view name) -> const QuerySyntax& {
      const auto at = syntaxes.find(name);
      return at == syntaxes.end() || at->second == nullptr ? default_query_syntax() : *at->second;
    };
    return std::move(loaded_);
  }

 private:
  /// The database of an embedded engine; empty for any other.
  static std::string index_of(const Engine& engine) {
    if (const auto* local = std::get_if<fetchers::LocalAccess>(&engine.access)) return local->database;
    if (const auto* cosine = std::get_if<fetchers::CosineAccess>(&engine.access)) return cosine->database;
    if (const auto* vectors = std::get_if<fetchers::VectorAccess>(&engine.access)) return vectors->database;
    return {};
  }
  void note(const std::string& mistake) { mistakes_ += (mistakes_.empty() ? "" : "\n") + mistake; }

  void add(const Engine& engine) {
    loaded_.names.push_back(engine.name);
    syntaxes_[engine.name] = engine.query_syntax;
    loaded_.traits[engine.name] = traits_of(engine);
    note_forwarded(engine, loaded_.forwarded);
    const EngineTraits& traits = loaded_.traits[engine.name];
    if (!traits.is_embedded && !traits.is_reranker) loaded_.watched.push_back(fetchers::watched(engine));
    if (fetchers::may_be_tried(engine)) loaded_.tried.push_back(engine);
    if (const auto* vectors = std::get_if<fetchers::VectorAccess>(&engine.access);
        vectors != nullptr && engine.embedding)
      (engine.is_disabled || engine.is_optional ? disabled_embeddings_ : embeddings_)
          .emplace(vectors->database, *engine.embedding);
    if (const std::string database = index_of(engine); !database.empty()) {
      loaded_.indexes[engine.name] = database;
      auto& content = loaded_.contents[database];  // several engines may use one index
      if (content == nullptr) content = std::make_shared<const IndexContent>(database);
    }
    if (!engine.tokens.empty()) loaded_.private_engines[engine.name] = engine.tokens;
    const auto* local = std::get_if<fetchers::LocalAccess>(&engine.access);
    if (local == nullptr) return;
    auto& vocabulary = by_database_[local->database];  // several engines may use one index
    if (vocabulary == nullptr)
      vocabulary = std::make_shared<IndexVocabulary>(local->database, config_.tracking);
    if (!local->order_by.empty()) vocabulary->order_by(local->order_by);
    loaded_.vocabularies[engine.name] = vocabulary;
  }

  const ServerConfig& config_;
  LoadedEngines loaded_;
  std::vector<Engine> engines_;
  std::map<std::string, std::string> file_of_;
  std::map<std::string, const QuerySyntax*, std::less<>> syntaxes_;
  std::map<std::string, std::shared_ptr<IndexVocabulary>> by_database_;
  std::map<std::string, fetchers::Embedding> embeddings_;           ///< by database
  std::map<std::string, fetchers::Embedding> disabled_embeddings_;  ///< whose secrets need not be set
  std::string mistakes_;
  fetchers::HostnameRules hostnames_;
  std::string defined_;  ///< what the digest of the definitions is made of
};

}  // namespace

Result<LoadedEngines> load_engines(const ServerConfig& config, const SecretLookup& secret_of,
                                   std::shared_ptr<fetchers::EarlierFetchers> earlier) {
  EngineFiles files(config);
  for (const std::string& file : config.engines) files.add(file);
  return files.finish(secret_of, std::move(earlier));
}

Barrier LoadedEngines::barrier(const KeyConfig* key, const std::string& engine) const {
  if (key != nullptr && !key->may_ask_engine(engine)) return Barrier::scope;
  const auto tokens = private_engines.find(engine);
  if (tokens == private_engines.end()) return Barrier::none;
  return key != nullptr && key->has_token_of(tokens->second) ? Barrier::none : Barrier::token;
}

}  // namespace metafuse::service
