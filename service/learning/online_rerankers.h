#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/features.h"
#include "fusion/learners/online/reranker.h"
#include "service/config/snapshot.h"
#include "service/learning/feedback.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A domain's online reranker as it stands, for scoring; nullptr while it has learned nothing.
using RerankerPointer = std::shared_ptr<const fusion::online::Reranker>;

/// What one piece of feedback says of the results of its search: levels of fusion::online::RerankerFeedback.
///
/// A click says "chosen" of its result, and "passed over" of those above it that were not clicked (at most
/// the ten nearest). A judgment says "chosen" of a grade above 0, else "passed over".
///
/// in:     instances - the search's; position - in search.shown; clicks - of the search, this one too
std::vector<fusion::online::RerankerFeedback> reranker_feedback(const StoredSearch& search,
                                                                const fusion::QueryInstances& instances,
                                                                std::uint32_t position,
                                                                std::optional<int> grade,
                                                                std::span<const Click> clicks);

/// One OAP-BPM reranker a domain, over the domain's model, that learns from feedback at once. What it learned
/// is written beside the models (FOLDER/online/DOMAIN.json) before learn() returns, and begins anew when the
/// model becomes another one. Each process learns for itself. From any thread.
class OnlineRerankers {
 public:
  explicit OnlineRerankers(std::string models_folder) : folder_(std::move(models_folder)) {}
  OnlineRerankers(const OnlineRerankers&) = delete;
  OnlineRerankers& operator=(const OnlineRerankers&) = delete;

  /// Of the domain's model as it is now; nullptr without a model.
  RerankerPointer find(const LoadedDomain& domain);

  /// Learns from one piece of feedback that was recorded. Nothing for a domain without a model or a search
  /// with other lists than the model has.
  ///
  /// errors: those of the store and of writing the state
  Result<void> learn(const LoadedDomain& domain, Store& store, const FeedbackRequest& request,
                     const FeedbackRules& rules);

  /// Examples that a domain's reranker learned from.
  std::uint64_t steps(const LoadedDomain& domain);
  /// Forgets what was learned for a domain.
  Result<void> reset(const LoadedDomain& domain);

 private:
  struct Entry {
    std::string model;         ///< digest of the model file below
    RerankerPointer reranker;  ///< replaced as a whole, so that others go on scoring
  };

  Entry* entry_of(const LoadedDomain& domain);
  std::string file_of(const std::string& domain) const;
  Result<void> save(const std::string& domain);

  std::string folder_;
  std::mutex mutex_;
  std::mutex save_mutex_;  ///< taken before mutex_, so that searches never wait for a disk
  std::map<std::string, Entry> entries_;
};

/// The answer in the reranker's order; results of a later window stay below. FusedResult::moved_from says
/// where each stood.
SearchAnswer reranked_answer(const LoadedDomain& domain, const SearchAnswer& answer,
                             const fusion::online::Reranker& reranker);

}  // namespace metafuse::service
