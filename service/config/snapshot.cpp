#include "service/config/snapshot.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/diagnostics.h"
#include "core/digest.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/engines/index/index_words.h"
#include "fetchers/engines/index/local_engine.h"
#include "fusion/data/features.h"
#include "fusion/training/registry.h"
#include "service/store/model_versions.h"
#include "templates/template_file.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;
constexpr std::size_t kMostCounted = 200;
constexpr std::size_t kMaxLogoBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxModelBytes = std::size_t{256} << 20;

/// Collects the mistakes of several files, one per line.
class Mistakes {
 public:
  void add(const Error& error) { add(error.code, error.text); }
  void add(Code code, const std::string& text) {
    if (!text_.empty()) text_ += '\n';
    if (text_.empty()) code_ = code;
    text_ += text;
  }
  bool is_empty() const { return text_.empty(); }
  Error error() const { return fail(code_, text_); }

 private:
  Code code_ = Code::bad_config;
  std::string text_;
};

/// The names in `from` that are missing in `other`.
std::vector<std::string> lacking(const std::vector<fusion::Feature>& from,
                                 const std::vector<fusion::Feature>& other) {
  std::vector<std::string> out;
  for (const fusion::Feature& feature : from) {
    const auto is_same = [&](const fusion::Feature& f) { return f.name == feature.name; };
    if (std::none_of(other.begin(), other.end(), is_same)) out.push_back(feature.name);
  }
  return out;
}

Result<void> check_features(const fusion::Model& model, const templates::Domain& domain,
                            const std::string& file) {
  std::vector<fusion::Feature> ranks;
  for (const fusion::Feature& feature : model.features)
    if (!fusion::is_derived(feature)) ranks.push_back(feature);
  const auto have = features_of(domain);
  const auto gone = lacking(ranks, have);
  const auto added = lacking(have, ranks);
  if (gone.empty() && added.empty()) return {};
  std::string text =
      file + ": the model was trained on other templates than domain " + domain.name + " has now;";
  if (!gone.empty()) text += fmt::format(" only in the model: {};", fmt::join(gone, ", "));
  if (!added.empty()) text += fmt::format(" only in the templates: {};", fmt::join(added, ", "));
  return fail(Code::bad_data, text + " retrain it, or restore the templates");
}

void load_model(const ServerConfig& config, LoadedDomain& out, Mistakes& mistakes) {
  if (config.models.empty()) return;
  const auto file = std::filesystem::path(config.models) / (out.domain.name + ".json");
  if (!std::filesystem::exists(file)) return;
  auto text = read_text(file.string(), kMaxModelBytes);
  if (!text) return mistakes.add(text.error());
  auto model = fusion::parse_model(*text, file.string());
  if (!model) return mistakes.add(model.error());
  if (auto same = check_features(*model, out.domain, file.string()); !same) return mistakes.add(same.error());
  out.model_file = file.string();
  out.model_digest = sha256_hex(*text);
  out.model = std::move(*model);
}

/// Loads the challenger if searches are interleaved. One that does not fit the templates is only left out
/// with a warning, because no search depends on it.
void load_challenger(const ServerConfig& config, LoadedDomain& out, std::vector<std::string>& warnings) {
  if (config.models.empty() || config.learning.interleave_share <= 0) return;
  ModelVersions versions(config.models);
  const auto state = versions.state(out.domain.name);
  if (!state) return warnings.push_back(state.error().text);
  if (state->challenger.empty()) return;
  auto model = versions.read(out.domain.name, state->challenger);
  if (!model) return warnings.push_back(model.error().text);
  if (const auto same = check_features(*model, out.domain, "challenger " + state->challenger); !same)
    return warnings.push_back(same.error().text);
  out.challenger = Challenger{std::move(*model), state->challenger};
}

/// Sets the embedded indexes that a domain's templates ask and their vocabularies, each once.
void set_indexes(const LoadedEngines& engines, LoadedDomain& domain) {
  std::set<std::string> names;
  for (const templates::SearchTemplate& item : domain.domain.templates)
    names.insert(item.engines.begin(), item.engines.end());
  const auto add = [](const std::shared_ptr<const IndexVocabulary>& one, auto& out) {
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  };
  std::set<std::string> indexes;
  for (const std::string& name : names) {
    const auto index = engines.indexes.find(name);
    indexes.insert(index == engines.indexes.end() ? "" : index->second);
    const auto at = engines.vocabularies.find(name);
    if (at == engines.vocabularies.end()) continue;
    add(at->second, domain.vocabularies);
    if (engines.may_ask(nullptr, name)) add(at->second, domain.open_indexes);
  }
  domain.asks_one_index = indexes.size() == 1 && domain.vocabularies.size() == 1;
  for (const std::string& index : indexes)
    if (const auto content = engines.contents.find(index); content != engines.contents.end())
      domain.indexes.push_back(content->second);
}

void load_domain(const std::string& file, Snapshot& snapshot, Mistakes& mistakes) {
  auto text = read_text(file, kMaxTemplateBytes);
  if (!text) return mistakes.add(text.error());
  auto parsed = templates::parse_domain_file(*text, file);
  if (!parsed) return mistakes.add(parsed.error());
  LoadedDomain out;
  out.domain = std::move(parsed->domain);
  out.file = file;
  out.etag = text_etag(*text);
  out.engines_digest = snapshot.engines.digest;
  out.syntax_of = snapshot.engines.syntax_of;
  set_indexes(snapshot.engines, out);
  out.text = std::move(*text);
  snapshot.warnings.insert(snapshot.warnings.end(), parsed->warnings.begin(), parsed->warnings.end());
  load_model(snapshot.config, out, mistakes);
  load_challenger(snapshot.config, out, snapshot.warnings);
  const std::string name = out.domain.name;
  if (const auto at = snapshot.domains.find(name); at != snapshot.domains.end())
    return mistakes.add(Code::bad_config, file + ": domain " + name + " is also defined in " +
                                              at->second.file + "; rename one");
  snapshot.domains.emplace(name, std::move(out));
}

/// Whether a domain asks all lists of another one.
bool asks_lists_of(const LoadedDomain& domain, const LoadedDomain& other) {
  const auto own = features_of(domain.domain);
  return std::ranges::all_of(other.domain.templates, [&](const templates::SearchTemplate& item) {
    return std::ranges::all_of(item.engines, [&](const std::string& engine) {
      return std::ranges::find(own, item.id + '@' + engine, &fusion::Feature::name) != own.end();
    });
  });
}

/// Gives every domain what the others' own models say about its lists. Where a domain has no model, this
/// serves it.
void add_priors(Snapshot& snapshot) {
  for (auto& [name, domain] : snapshot.domains) {
    std::vector<fusion::PriorSource> sources;
    for (const auto& [other, loaded] : snapshot.domains)
      if (other != name && loaded.model) sources.push_back({other, &*loaded.model});
    for (const auto& [other, loaded] : snapshot.domains)
      if (other != name && !domain.domain.templates.empty() && asks_lists_of(loaded, domain))
        domain.same_lists.push_back(other);
    const auto features = features_of(domain.domain);
    auto prior = fusion::prior_of(sources, features);
    if (!prior) continue;
    domain.prior_model = std::make_shared<const fusion::Model>(fusion::model_of(*prior, features));
    domain.prior = std::make_shared<const fusion::Prior>(std::move(*prior));
  }
  for (auto& [name, domain] : snapshot.domains) {
    if (domain.model || domain.prior_model == nullptr) continue;
    domain.model = *domain.prior_model;
    domain.model_digest = sha256_hex(fusion::model_text(*domain.model));
    domain.is_model_prior = true;
  }
}

/// The place in the file of an engine's name in a template.
Place place_of_engine(const YamlNode* templates, std::size_t item, const std::string& engine) {
  const YamlNode* node = templates != nullptr && item < templates->items.size()
                             ? templates->items[item].find("engine")
                             : nullptr;
  if (node == nullptr) return {};
  Place place = node->place;
  for (const YamlNode& name : node->items)
    if (name.text == engine) place = name.place;
  return place;
}

void check_all_engines(const Snapshot& snapshot, Mistakes& mistakes) {
  for (const auto& [name, domain] : snapshot.domains) {
    if (const auto known = check_engines(domain.domain, domain.text, domain.file, snapshot.engines.names);
        !known)
      mistakes.add(known.error());
    if (const auto fit = check_rerankers(domain.domain, domain.text, domain.file, snapshot.engines); !fit)
      mistakes.add(fit.error());
  }
}

}  // namespace

bool EngineTraits::finds_pictures() const {
  return std::find(categories.begin(), categories.end(), "images") != categories.end();
}

std::string LoadedDomain::learned_elsewhere() const {
  const std::size_t count = prior == nullptr ? 0 : prior->sources.size();
  return count == 1 ? "what another domain learned" : fmt::format("what {} other domains learned", count);
}

std::shared_ptr<const Snapshot> PlainTwin::of(const Snapshot& snapshot) const {
  std::call_once(once_, [&] {
    auto plain = std::make_shared<Snapshot>(snapshot);
    for (auto& [name, domain] : plain->domains) {
      domain.challenger.reset();
      if (!domain.model) continue;
      domain.model.reset();
      domain.is_model_left_out = true;
      domain.engines_digest += " rrf";  // so that every cache keeps its answers separate
    }
    made_ = std::move(plain);
  });
  return made_;
}

const LoadedDomain* Snapshot::find_domain(std::string_view name) const {
  const auto at = domains.find(name.empty() ? config.default_domain : std::string(name));
  if (at != domains.end()) return &at->second;
  if (name.empty() && config.default_domain.empty() && !domains.empty()) return &domains.begin()->second;
  return nullptr;
}

std::vector<const LoadedDomain*> Snapshot::domains_for(const KeyConfig* key) const {
  std::vector<const LoadedDomain*> out;
  for (const auto& [name, domain] : domains)
    if (key == nullptr || key->may_use_domain(name)) out.push_back(&domain);
  return out;
}

const LoadedDomain* Snapshot::find_domain_for(const KeyConfig* key, std::string_view name) const {
  const LoadedDomain* found = find_domain(name);
  if (key == nullptr || (found != nullptr && key->may_use_domain(found->domain.name))) return found;
  if (!name.empty()) return nullptr;
  const auto usable = domains_for(key);
  return usable.empty() ? nullptr : usable.front();
}

Result<void> check_rerankers(const templates::Domain& domain, std::string_view text, const std::string& file,
                             const LoadedEngines& engines) {
  const auto is_reranker = [&](const std::string& name) {
    const auto at = engines.traits.find(name);
    return at != engines.traits.end() && at->second.is_reranker;
  };
  std::vector<std::pair<std::size_t, std::string>> misplaced;  // by template
  for (std::size_t i = 0; i < domain.templates.size(); ++i)
    for (const std::string& engine : domain.templates[i].engines)
      if (is_reranker(engine)) misplaced.emplace_back(i, engine);
  std::vector<std::string> missing;
  for (const templates::RerankList& list : domain.rerank)
    if (!list.engine.empty() && !is_reranker(list.engine)) missing.push_back(list.engine);
  if (misplaced.empty() && missing.empty()) return {};
  const auto root = parse_yaml(text, file);
  const YamlNode* rerank = root ? root->find("rerank") : nullptr;
  Diagnostics diagnostics(file);
  for (const auto& [item, engine] : misplaced)
    diagnostics.error(place_of_engine(root ? root->find("templates") : nullptr, item, engine),
                      "the engine " + engine + " is a reranker; name it under rerank, not in a template");
  for (const std::string& engine : missing)
    diagnostics.error(rerank == nullptr ? Place() : rerank->place,
                      "rerank: no engine file defines " + engine + " with the type rerank");
  return diagnostics.to_error(Code::bad_config);
}

Result<void> check_engines(const templates::Domain& domain, std::string_view text, const std::string& file,
                           const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> unknown;
  for (std::size_t i = 0; i < domain.templates.size(); ++i)
    for (const std::string& engine : domain.templates[i].engines)
      if (std::find(known.begin(), known.end(), engine) == known.end()) unknown.emplace_back(i, engine);
  if (unknown.empty()) return {};
  constexpr std::size_t kMostNamed = 100;
  if (unknown.size() > kMostNamed) unknown.resize(kMostNamed);
  const auto root = parse_yaml(text, file);
  Diagnostics diagnostics(file);
  for (const auto& [item, engine] : unknown)
    diagnostics.error(place_of_engine(root ? root->find("templates") : nullptr, item, engine),
                      fmt::format("template {} asks engine {}, which no engine file defines; defined are {}",
                                  domain.templates[item].id, engine, fmt::join(known, ", ")));
  return diagnostics.to_error(Code::bad_config);
}

Result<void> check_keys(const Snapshot& snapshot) {
  std::vector<std::string> domains;
  for (const auto& [name, domain] : snapshot.domains) domains.push_back(name);
  Mistakes mistakes;
  const auto check = [&](const KeyConfig& key, const std::vector<std::string>& named, std::string_view what,
                         const std::vector<std::string>& known) {
    for (const std::string& name : named)
      if (std::ranges::find(known, name) == known.end())
        mistakes.add(Code::bad_config,
                     fmt::format("{}: the key {} is limited to the {} {}, which no file defines{}", key.place,
                                 key.name, what, name, did_you_mean(name, known)));
  };
  for (const KeyConfig& key : snapshot.config.keys) {
    check(key, key.domains, "domain", domains);
    check(key, key.engines, "engine", snapshot.engines.names);
  }
  return mistakes.is_empty() ? Result<void>() : mistakes.error();
}

const Vocabulary& IndexVocabulary::get() const {
  std::call_once(once_, [this] {
    auto words = fetchers::read_index_words(database_, {.order_by = order_by_, .fewest_documents = 1});
    if (!words) words = fetchers::IndexWords();
    made_ = std::make_unique<const Vocabulary>(
        words->titles, words->words, order_by_.empty() ? TitleOrder::by_frequency : TitleOrder::as_given);
  });
  return *made_;
}

std::string IndexContent::version() const {
  const TimePoint now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (now >= next_look_) look_at(now);
  return version_;
}

void IndexContent::look() const {
  const std::lock_guard lock(mutex_);
  look_at(clock_.now());
}

/// Requires that the mutex is locked.
void IndexContent::look_at(TimePoint now) const {
  next_look_ = now + kBetweenLooks;
  const std::uint64_t file = file_.now();
  if (file == std::exchange(read_, file)) return;
  auto read = fetchers::content_version(database_);
  version_ = read ? std::move(*read) : std::string();
}

std::optional<CorrectedQuery> IndexVocabulary::correct(std::string_view query) const {
  auto counter = counters_.take();
  if (!counter) return std::nullopt;
  const auto documents_with = [&](const std::vector<std::vector<std::string>>& groups) {
    return counter->documents_with(groups, kMostCounted);
  };
  const auto is_stop_word = [&](const std::string& word) { return counter->is_stop_word(word); };
  // most queries need no vocabulary
  if (Vocabulary::is_right(query, documents_with, is_stop_word)) return std::nullopt;
  return get().correct(query, documents_with, is_stop_word);
}

std::string text_etag(std::string_view text) {
  return sha256_hex(text).substr(0, 32);
}

std::string_view plain_slot(const templates::Domain& domain) {
  if (domain.find_slot("QUERY") != nullptr) return "QUERY";
  for (const templates::Slot& slot : domain.slots)
    if (slot.is_required) return slot.name;
  return {};
}

std::vector<fusion::Feature> features_of(const templates::Domain& domain) {
  std::vector<fusion::Feature> out;
  for (const templates::SearchTemplate& item : domain.templates)
    for (const std::string& engine : item.engines)
      out.push_back({item.id + "@" + engine, fusion::FeatureKind::rank, domain.depth});
  for (const templates::RerankList& list : domain.rerank)
    out.push_back({list.feature_name(), fusion::FeatureKind::rank, domain.depth});
  for (const std::string& list : domain.lists) out.push_back({list, fusion::FeatureKind::rank, domain.depth});
  return out;
}

Result<std::shared_ptr<const Snapshot>> load_snapshot(const ServerConfig& config,
                                                      const LoadEngines& load_engines) {
  static std::atomic<std::uint64_t> generations{0};
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->config = config;
  snapshot->generation = ++generations;
  snapshot->warnings = config.warnings;
  Mistakes mistakes;
  auto engines = load_engines(config);
  if (engines)
    snapshot->engines = std::move(*engines);
  else
    mistakes.add(engines.error());
  for (const std::string& file : config.templates) load_domain(file, *snapshot, mistakes);
  if (engines) check_all_engines(*snapshot, mistakes);
  for (auto& [name, domain] : snapshot->domains) domain.generation = snapshot->generation;
  if (config.learning.is_started_from_others) add_priors(*snapshot);
  if (!config.branding.logo.empty()) {
    auto logo = read_text(config.branding.logo, kMaxLogoBytes);
    if (logo)
      snapshot->logo = std::move(*logo);
    else
      mistakes.add(Code::bad_config, "branding: the logo " + logo.error().text);
  }
  // A file with mistakes has no domain here, so that a missing one would be reported for nothing.
  if (mistakes.is_empty() && !config.default_domain.empty() &&
      !snapshot->domains.contains(config.default_domain))
    mistakes.add(Code::bad_config, config.file + ": default_domain " + config.default_domain +
                                       " has no template file; correct the name");
  if (!mistakes.is_empty()) return mistakes.error();
  if (const auto known = check_keys(*snapshot); !known) snapshot->warnings.push_back(known.error().text);
  const auto& more = snapshot->engines.warnings;
  snapshot->warnings.insert(snapshot->warnings.end(), more.begin(), more.end());
  return std::shared_ptr<const Snapshot>(std::move(snapshot));
}

}  // namespace metafuse::service
