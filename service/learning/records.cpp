#include "service/learning/records.h"

#include <chrono>
#include <utility>

namespace metafuse::service {
namespace {

constexpr std::chrono::milliseconds kGathersForCopy{50};

UnixTime machine_time() {
  return machine_milliseconds() / 1000;
}

/// Opens what servers of one store share: the mirror and the database's clock.
Result<void> open_shared(const Snapshot& snapshot, bool has_time, Records& records) {
  records.mirror = std::make_unique<Mirror>(records.store->shared, shared_places(snapshot));
  if (records.model_versions != nullptr) {
    Mirror* mirror = records.mirror.get();
    records.model_versions->on_saved = [mirror](std::string_view domain) {
      return mirror->send_models(domain);
    };
    records.model_versions->pause_others = [mirror] { return mirror->pause(); };
  }
  if (has_time) return {};
  records.clock = std::make_unique<SharedClock>(records.store->shared, machine_clock());
  TRY_VOID(records.clock->adjust());
  records.unix_time = [clock = records.clock.get()] { return clock->now(); };
  return {};
}

}  // namespace

SharedPlaces shared_places(const Snapshot& snapshot) {
  SharedPlaces places;
  places.models = snapshot.config.models;
  places.reports = snapshot.config.reports;
  places.keys = snapshot.config.keys_file;
  for (const auto& [name, domain] : snapshot.domains) places.templates[name] = domain.file;
  return places;
}

Result<std::unique_ptr<Records>> open_records(const Snapshot& snapshot, std::function<UnixTime()> unix_time) {
  const ServerConfig& config = snapshot.config;
  auto records = std::make_unique<Records>();
  const bool has_time = static_cast<bool>(unix_time);
  records->unix_time = has_time ? std::move(unix_time) : machine_time;
  if (!config.models.empty()) records->model_versions = std::make_unique<ModelVersions>(config.models);
  if (config.store.empty()) return records;
  TRY(records->store, open_store(config.store, StoreMode::serve, config.store_secret));
  records->decisions = std::make_unique<Decisions>(*records->store);
  QueryPrivacy& privacy = records->store->privacy;
  TRY(records->secret, privacy.secret());
  if (is_postgres_url(config.store)) TRY_VOID(open_shared(snapshot, has_time, *records));
  for (const auto& [name, domain] : snapshot.domains)
    TRY_VOID(privacy.unify_queries(name, plain_slot(domain.domain)));
  TRY_VOID(config.privacy.hash_queries ? privacy.hide_queries() : privacy.allow_words());
  SearchLog::Options options;
  options.max_bytes = config.store_max_bytes;
  if (is_postgres_url(config.store)) options.gathers = kGathersForCopy;
  records->search_log = std::make_unique<SearchLog>(*records->store, std::move(options));
  if (!config.models.empty()) records->online_rerankers = std::make_unique<OnlineRerankers>(config.models);
  return records;
}

}  // namespace metafuse::service
