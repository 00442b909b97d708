#include "service/learning/records.h"

#include <chrono>
#include <utility>

namespace metafuse::service {
namespace {

UnixTime machine_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<std::unique_ptr<Records>> open_records(const ServerConfig& config,
                                              std::function<UnixTime()> unix_time) {
  auto records = std::make_unique<Records>();
  records->unix_time = unix_time ? std::move(unix_time) : machine_time;
  if (!config.models.empty()) records->model_versions = std::make_unique<ModelVersions>(config.models);
  if (config.store.empty()) return records;
  TRY(records->store, open_store(config.store));
  TRY(records->secret, records->store->secret());
  records->search_log = std::make_unique<SearchLog>(*records->store);
  if (!config.models.empty()) records->online_rerankers = std::make_unique<OnlineRerankers>(config.models);
  return records;
}

}  // namespace metafuse::service
