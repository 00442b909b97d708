#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/file_version.h"
#include "core/result.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/engines/index/index_words.h"
#include "fetchers/engines/vector/vector_rows.h"
#include "fetchers/health/health_book.h"
#include "fusion/model/model_file.h"
#include "fusion/model/prior.h"
#include "service/base/vocabulary.h"
#include "service/config/config.h"
#include "templates/expander.h"
#include "templates/search_template.h"

namespace metafuse::service {

/// The vocabulary of an embedded index, built on first use; the reloader does that in advance. The functions
/// block while it is built: a fraction of a second for 30,000 documents, seconds for a million.
class IndexVocabulary {
 public:
  /// in: tracking - the parameters that the addresses of results lack
  explicit IndexVocabulary(std::string database, TrackingParameters tracking = default_tracking_parameters())
      : database_(std::move(database)), counters_(database_, std::move(tracking)) {}

  const std::string& database() const { return database_; }
  /// Completes by the documents with the largest numbers of this field first. To be called before get().
  void order_by(const std::string& number) { order_by_ = number; }

  /// out: empty for an index that cannot be read; a search reports why
  const Vocabulary& get() const;
  /// As Vocabulary::correct(), with the index's own counts of documents.
  std::optional<CorrectedQuery> correct(std::string_view query) const;
  /// Counts the index's documents. The file stays open between callers.
  /// errors: as fetchers::IndexCounters::take()
  Result<fetchers::IndexCounter> counter() const { return counters_.take(); }

 private:
  const std::string database_;
  const fetchers::IndexCounters counters_;
  std::string order_by_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Vocabulary> made_;
};

/// What an embedded index holds, for caches of what was found in it. Safe from any thread.
class IndexContent {
 public:
  explicit IndexContent(std::string database, const Clock& clock = machine_clock())
      : database_(std::move(database)), clock_(clock), file_(database_) {}

  /// A text that is another one after the index was replaced by one of other documents: at most kBetweenLooks
  /// later, or at once after look(). It is the same in every process that searches this file. Empty for an
  /// index that cannot be read.
  ///
  /// cost: that of look(), at most once in kBetweenLooks
  std::string version() const;
  /// Looks whether the index was replaced. Whoever has just written it calls this.
  ///
  /// cost: one system call; reads some rows after a change
  void look() const;

  static constexpr std::chrono::seconds kBetweenLooks{1};

 private:
  void look_at(TimePoint now) const;

  const std::string database_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable TimePoint next_look_{};
  mutable FileVersion file_;
  mutable std::uint64_t read_ = 0;  ///< the version of the file that was read last
  mutable std::string version_;
};

/// The model that searches compare with a domain's champion.
struct Challenger {
  fusion::Model model;
  std::string version;
};

/// A domain's templates with the model that fuses their lists.
struct LoadedDomain {
  templates::Domain domain;
  std::string file;
  std::string text;  ///< the YAML as written
  std::string etag;  ///< digest of `text`
  /// LoadedEngines::digest, because cached lists are only valid for the same engines.
  std::string engines_digest;
  std::optional<fusion::Model> model;
  std::string model_file;
  std::string model_digest;
  /// What the models of the other domains say about this domain's lists; null if nothing.
  std::shared_ptr<const fusion::Prior> prior = {};
  /// The same as a model, which serves the domain while it has none of its own; null without `prior`.
  std::shared_ptr<const fusion::Model> prior_model = {};
  /// Names of the other domains that ask all its lists, if it may learn from them.
  std::vector<std::string> same_lists = {};
  bool is_model_prior = false;             ///< `model` is made of `prior`, because there is none of its own
  bool is_model_left_out = false;          ///< the domain has a model, but this search asked for RRF
  std::optional<Challenger> challenger;    ///< loaded only while searches are interleaved
  templates::SyntaxLookup syntax_of = {};  ///< of each engine; if empty, all use the default syntax
  /// Of the embedded indexes that its templates ask.
  std::vector<std::shared_ptr<const IndexVocabulary>> vocabularies = {};
  /// What the embedded indexes that its templates ask hold.
  std::vector<std::shared_ptr<const IndexContent>> indexes = {};
  /// Those that anybody may search. They may decide what is in a result's text.
  std::vector<std::shared_ptr<const IndexVocabulary>> open_indexes = {};
  /// Every engine that its templates ask has that index, so a word that is not in it finds nothing.
  bool asks_one_index = false;
  std::uint64_t generation = 0;  ///< of its snapshot

  /// "what 2 other domains learned", if it has a prior: a caller may not know which domains there are.
  std::string learned_elsewhere() const;
  /// The version of the model that orders its results, as stored searches name it; empty for RRF.
  std::string served_version() const { return model ? model_digest.substr(0, 12) : std::string(); }
};

/// What an engine can do, for clients that ask for it before they search.
struct EngineTraits {
  std::string shortcut;
  bool has_paging = false;
  bool has_language = false;
  bool has_time_range = false;
  bool has_safe_search = false;
  double timeout_seconds = 3;
  std::string description = {};  ///< what it searches, as its definition says
  bool is_embedded = false;      ///< it is an index that this process searches itself
  std::vector<std::string> categories = {};
  bool is_reranker = false;  ///< orders other engines' results, and cannot be searched
  double price = 0;          ///< of one request

  /// Whether its results are pictures.
  bool finds_pictures() const;
};

enum class Barrier { none, scope, token };

/// The engines that a configuration defines.
struct LoadedEngines {
  std::vector<std::string> names;  ///< in the order of their files
  std::shared_ptr<fetchers::Fetcher> fetcher;
  templates::SyntaxLookup syntax_of;
  std::vector<std::string> warnings;
  std::map<std::string, EngineTraits> traits = {};
  std::map<std::string, std::shared_ptr<const IndexVocabulary>> vocabularies = {};  ///< by embedded engine
  std::map<std::string, std::string> indexes = {};  ///< the database of each embedded engine
  std::map<std::string, std::shared_ptr<const IndexContent>> contents = {};  ///< by database
  /// Of embedded indexes whose vectors an endpoint makes, by the index's file.
  std::map<std::string, fetchers::EmbedTexts> embed_texts = {};
  std::string digest = {};  ///< of the definitions and the rules for results' keys
  /// The engines that only keys with one of their tokens may ask.
  std::map<std::string, std::vector<std::string>> private_engines = {};
  std::vector<fetchers::WatchedEngine> watched = {};  ///< whose answers are compared with earlier ones
  std::vector<fetchers::Engine> tried = {};           ///< which the server may try by itself
  int safe_search = 0;                                ///< of searches that name no level
  std::string language = {};                          ///< of searches that name none
  std::vector<std::string> forwarded = {};  ///< names of headers that engines pass on, in lower case

  /// What keeps searches with this key, or nullptr for none, from an engine: the key's scope, or that the
  /// engine is private and the key has none of its tokens.
  Barrier barrier(const KeyConfig* key, const std::string& engine) const;
  bool may_ask(const KeyConfig* key, const std::string& engine) const {
    return barrier(key, engine) == Barrier::none;
  }
};

/// Loads the engines of a configuration. It is passed as a value so that tests can supply their own engines.
using LoadEngines = std::function<Result<LoadedEngines>(const ServerConfig& config)>;

/// What a server's snapshots are loaded from.
struct SnapshotSource {
  ServerConfig config;  ///< the configuration that the process starts with
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;  ///< reads the configuration again; may be empty
};

struct Snapshot;

/// The same snapshot whose domains have no model, made when first asked for. Copies make their own.
class PlainTwin {
 public:
  PlainTwin() = default;
  PlainTwin(const PlainTwin&) {}
  PlainTwin& operator=(const PlainTwin&) = delete;

  std::shared_ptr<const Snapshot> of(const Snapshot& snapshot) const;

 private:
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Snapshot> made_;
};

/// Everything that a search reads. It is loaded once and never changed; a reload makes a new one.
struct Snapshot {
  ServerConfig config;
  std::map<std::string, LoadedDomain> domains;
  LoadedEngines engines;
  std::uint64_t generation = 0;  ///< counts the loads of this process; part of cache keys
  std::string logo;              ///< the bytes of the configuration's logo; empty for none
  std::vector<std::string> warnings;
  PlainTwin plain_twin = {};

  /// This snapshot for searches that ask for RRF: its domains have no model. Only its first call copies.
  std::shared_ptr<const Snapshot> without_models() const { return plain_twin.of(*this); }
  /// The named domain, the default one for an empty name, or nullptr.
  const LoadedDomain* find_domain(std::string_view name) const;

  /// The domains that a key may use, sorted by name; all domains for nullptr.
  std::vector<const LoadedDomain*> domains_for(const KeyConfig* key) const;
  /// As find_domain(), among the domains that the key may use. For an empty name it returns the first of them
  /// if the default is not among them.
  const LoadedDomain* find_domain_for(const KeyConfig* key, std::string_view name) const;
};

/// Checks that every engine that a domain's templates name is defined.
///
/// in:     text, file - the domain's file, for the places of mistakes
/// errors: bad_config: each unknown engine with its place in the file
Result<void> check_engines(const templates::Domain& domain, std::string_view text, const std::string& file,
                           const std::vector<std::string>& known);

/// Checks that what `rerank` names are rerankers, and that no template asks one.
///
/// in:     text, file - the domain's file, for the places of mistakes
/// errors: bad_config: each mistake with its place in the file
Result<void> check_rerankers(const templates::Domain& domain, std::string_view text, const std::string& file,
                             const LoadedEngines& engines);

/// Checks that the domains and engines that keys are limited to exist. A snapshot whose keys name others has
/// a warning that says so, but is good: such a key reaches less than it should, and a file of keys that
/// several servers share may come before the template that it names.
///
/// errors: bad_config: each mistake with its place in the file
Result<void> check_keys(const Snapshot& snapshot);

/// The entity tag of a template file's text, without quotes.
std::string text_etag(std::string_view text);

/// The slot that a plain query fills: QUERY, or else the first required one; empty if the domain has neither.
std::string_view plain_slot(const templates::Domain& domain);

/// The ranking features of a domain: one per template and engine, in the order of the file, then one per
/// reranker, then one per list that callers supply.
std::vector<fusion::Feature> features_of(const templates::Domain& domain);

/// Loads the templates, engines and models that a configuration names.
///
/// errors: bad_config with every mistake of every file: templates and engines that do not parse, an undefined
///         engine, two files for one domain, a default domain that does not exist; bad_data: a model that
///         cannot be read or was trained on other templates (the error says which names differ)
Result<std::shared_ptr<const Snapshot>> load_snapshot(const ServerConfig& config,
                                                      const LoadEngines& load_engines);

}  // namespace metafuse::service
