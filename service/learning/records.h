#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/learning/decisions.h"
#include "service/learning/evaluation_reports.h"
#include "service/learning/online_rerankers.h"
#include "service/learning/search_log.h"
#include "service/store/mirror.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The server's stored searches, feedback and models, as far as its configuration names places for them.
struct Records {
  std::function<UnixTime()> unix_time;
  std::unique_ptr<Store> store;        ///< nullptr without a store
  std::unique_ptr<Mirror> mirror;      ///< nullptr unless the store is PostgreSQL
  std::unique_ptr<SharedClock> clock;  ///< with a mirror: source of unix_time, unless that was given
  std::string secret;                  ///< the store's secret
  std::unique_ptr<SearchLog> search_log;
  std::unique_ptr<ModelVersions> model_versions;      ///< nullptr without a folder of models
  std::unique_ptr<OnlineRerankers> online_rerankers;  ///< nullptr without a store or a folder of models
  std::unique_ptr<Decisions> decisions;               ///< nullptr without a store
  /// Called after a domain's judgments or clicks changed; the server learns from them soon. May be empty.
  std::function<void(const std::string& domain)> on_feedback;
  EvaluationReports reports;

  /// Says that a domain has new judgments.
  void note_judgments(const std::string& domain) const {
    if (decisions != nullptr) decisions->note(domain);
    if (on_feedback) on_feedback(domain);
  }
};

/// Where the files are that servers of one store share.
SharedPlaces shared_places(const Snapshot& snapshot);

/// Opens the store, and converts what an earlier version or configuration left there.
///
/// in:     snapshot - its configuration and domains; unix_time - clock for what is stored; if empty, the
///         database's clock if several servers share the store, else the machine's
/// errors: those of opening the store
Result<std::unique_ptr<Records>> open_records(const Snapshot& snapshot, std::function<UnixTime()> unix_time);

}  // namespace metafuse::service
