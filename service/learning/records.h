#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/learning/evaluation_reports.h"
#include "service/learning/online_rerankers.h"
#include "service/learning/search_log.h"
#include "service/store/mirror.h"
#include "service/store/model_versions.h"
#include "service/store/shared_clock.h"
#include "service/store/store.h"

namespace metafuse::service {

/// What the server keeps of searches, feedback and models, as far as its configuration names a place.
struct Records {
  std::function<UnixTime()> unix_time;
  std::unique_ptr<Store> store;        ///< nullptr without a store, as the next three
  std::unique_ptr<Mirror> mirror;      ///< nullptr unless the store is PostgreSQL
  std::unique_ptr<SharedClock> clock;  ///< what unix_time tells then, unless it was given
  std::string secret;                  ///< the store's
  std::unique_ptr<SearchLog> search_log;
  std::unique_ptr<ModelVersions> model_versions;      ///< nullptr without a folder of models
  std::unique_ptr<OnlineRerankers> online_rerankers;  ///< nullptr without both
  EvaluationReports reports;
};

/// The files that servers of one store share.
SharedPlaces shared_places(const Snapshot& snapshot);

/// Opens the store, and brings what an earlier version or configuration left there up to this one.
///
/// in:     snapshot - its configuration and domains; unix_time - for what is stored; when empty, that of the
///         database where several servers share it, or else the machine's
/// errors: those of opening the store
Result<std::unique_ptr<Records>> open_records(const Snapshot& snapshot, std::function<UnixTime()> unix_time);

}  // namespace metafuse::service
