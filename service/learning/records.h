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
#include "service/store/store.h"

namespace metafuse::service {

/// What the server keeps of searches, feedback and models, as far as its configuration names a place.
struct Records {
  std::function<UnixTime()> unix_time;
  std::unique_ptr<Store> store;    ///< nullptr without a store, as the next two
  std::unique_ptr<Mirror> mirror;  ///< of templates and models; nullptr unless the store is PostgreSQL
  std::string secret;              ///< the store's
  std::unique_ptr<SearchLog> search_log;
  std::unique_ptr<ModelVersions> model_versions;      ///< nullptr without a folder of models
  std::unique_ptr<OnlineRerankers> online_rerankers;  ///< nullptr without both
  EvaluationReports reports;
};

/// The files that servers of one store share.
SharedPlaces shared_places(const Snapshot& snapshot);

/// Opens the store, and brings what an earlier version or configuration left there up to this one.
///
/// in:     snapshot - its configuration and domains; unix_time - for what is stored; the machine's when empty
/// errors: those of opening the store
Result<std::unique_ptr<Records>> open_records(const Snapshot& snapshot, std::function<UnixTime()> unix_time);

}  // namespace metafuse::service
