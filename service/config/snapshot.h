#pragma once

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

#include "core/result.h"
#include "fetchers/fetcher.h"
#include "fusion/model/model_file.h"
#include "service/base/vocabulary.h"
#include "service/config/config.h"
#include "templates/expander.h"
#include "templates/search_template.h"

namespace metafuse::service {

/// The vocabulary of an embedded index, made when it is first asked for, which the reloader does. Its
/// functions block while it is made: a fraction of a second for 30,000 documents, seconds for a million.
class IndexVocabulary {
 public:
  explicit IndexVocabulary(std::string database) : database_(std::move(database)) {}

  /// out: an empty one of an index that cannot be read; searching says why
  const Vocabulary& get() const;
  /// Vocabulary::correct() with the index's own counts.
  std::optional<std::string> correct(std::string_view query) const;

 private:
  const std::string database_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Vocabulary> made_;
};

/// A domain's templates with the model that fuses their lists.
struct LoadedDomain {
  templates::Domain domain;
  std::string file;
  std::string text;            ///< the YAML as written
  std::string etag;            ///< digest of `text`
  std::string engines_digest;  ///< of LoadedEngines: equal lists need equal engines
  std::optional<fusion::Model> model;
  std::string model_file;
  std::string model_digest;
  bool is_model_left_out = false;           ///< it has one, and whoever searches wants RRF
  std::optional<fusion::Model> challenger;  ///< loaded only while searches are interleaved
  std::string challenger_version;
  templates::SyntaxLookup syntax_of = {};  ///< of the engines; without it, all speak the default
  std::vector<std::shared_ptr<const IndexVocabulary>> vocabularies = {};  ///< of its embedded engines
};

/// What an engine can do, for clients that ask before they search.
struct EngineTraits {
  std::string shortcut;
  bool has_paging = false;
  bool has_language = false;
  bool has_time_range = false;
  bool has_safe_search = false;
  double timeout_seconds = 3;
  std::string description = {};  ///< what it holds, as its definition says
};

/// The engines that a configuration defines.
struct LoadedEngines {
  std::vector<std::string> names;  ///< in the order of their files
  std::shared_ptr<fetchers::Fetcher> fetcher;
  templates::SyntaxLookup syntax_of;
  std::vector<std::string> warnings;
  std::map<std::string, EngineTraits> traits = {};
  std::map<std::string, std::shared_ptr<const IndexVocabulary>> vocabularies = {};  ///< of embedded engines
  std::string digest = {};                  ///< of the definitions and of what keys of results are made by
  std::vector<std::string> forwarded = {};  ///< headers that engines pass on, in small letters
};

/// Reads the engine files of a configuration; a value, so that tests can put engines of their own in.
using LoadEngines = std::function<Result<LoadedEngines>(const ServerConfig& config)>;

/// Everything that a search reads, loaded once and never changed: a reload makes a new one.
struct Snapshot {
  ServerConfig config;
  std::map<std::string, LoadedDomain> domains;
  LoadedEngines engines;
  std::uint64_t generation = 0;  ///< of this load within the process; a cache key
  std::vector<std::string> warnings;

  /// The named domain, the default one for an empty name, or nullptr.
  const LoadedDomain* find_domain(std::string_view name) const;

  /// The domains that a key may use, by name; all of them for nullptr.
  std::vector<const LoadedDomain*> domains_for(const KeyConfig* key) const;
  /// find_domain() among those; the first of them for an empty name when the default is none of them.
  const LoadedDomain* find_domain_for(const KeyConfig* key, std::string_view name) const;
};

/// Whether every engine that a domain's templates ask is defined.
///
/// in:     text, file - the domain's file, for the places of mistakes
/// errors: bad_config, each engine that is not known at its place
Result<void> check_engines(const templates::Domain& domain, std::string_view text, const std::string& file,
                           const std::vector<std::string>& known);

/// The entity tag of a template file's text, without quotes.
std::string text_etag(std::string_view text);

/// The slot that a plain query fills: QUERY, or the first required one; empty for a domain with neither.
std::string_view plain_slot(const templates::Domain& domain);

/// The ranking features of a domain: one per template and engine, in the order of the file, then one per list
/// that callers bring.
std::vector<fusion::Feature> features_of(const templates::Domain& domain);

/// Loads the templates, engines and models that a configuration names.
///
/// errors: bad_config with every mistake of every file: templates and engines that do not parse, an engine
///         that is not defined, two files of one domain, a default domain that does not exist; bad_data: a
///         model that does not read or was trained on other templates (says which names differ)
Result<std::shared_ptr<const Snapshot>> load_snapshot(const ServerConfig& config,
                                                      const LoadEngines& load_engines);

}  // namespace metafuse::service
