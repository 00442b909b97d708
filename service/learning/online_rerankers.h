#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/features.h"
#include "fusion/model/online/reranker.h"
#include "service/config/snapshot.h"
#include "service/learning/feedback.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A domain's online reranker in its current state, for scoring; nullptr while it has learned nothing.
using RerankerPointer = std::shared_ptr<const fusion::online::Reranker>;

/// What one piece of feedback says about the results of its search, as levels
/// of fusion::online::RerankerFeedback.
///
/// A click marks its result as "chosen" and the unclicked results above it (at most the ten nearest) as
/// "passed over". A judgment marks its result as "chosen" if the grade is above 0, else as "passed over".
///
/// in: instances - of the search; position - in search.shown; clicks - all clicks of the search, including
///     this one
std::vector<fusion::online::RerankerFeedback> reranker_feedback(const StoredSearch& search,
                                                                const fusion::QueryInstances& instances,
                                                                std::uint32_t position,
                                                                std::optional<int> grade,
                                                                std::span<const Click> clicks);

/// One OAP-BPM reranker per domain, on top of the domain's model, which learns from feedback immediately. Its
/// state is written beside the models (FOLDER/online/DOMAIN.json) before learn() returns, and starts anew
/// when the model changes. Each process learns for itself. Safe from any thread.
class OnlineRerankers {
 public:
  explicit OnlineRerankers(std::string models_folder) : folder_(std::move(models_folder)) {}
  OnlineRerankers(const OnlineRerankers&) = delete;
  OnlineRerankers& operator=(const OnlineRerankers&) = delete;

  /// The reranker for the domain's model; nullptr without a model, or if a later snapshot has another one.
  RerankerPointer find(const LoadedDomain& domain);

  /// Learns from one recorded piece of feedback. Does nothing for a domain without a model, or for a search
  /// with other lists than the model's.
  ///
  /// errors: those of the store and of writing the state
  Result<void> learn(const LoadedDomain& domain, Store& store, const FeedbackRequest& request,
                     const FeedbackRules& rules);

  /// How many examples a domain's reranker has learned from.
  std::uint64_t steps(const LoadedDomain& domain);
  /// Resets a domain's reranker.
  Result<void> reset(const LoadedDomain& domain);

 private:
  struct Entry {
    std::uint64_t generation = 0;  ///< of the latest snapshot that used it
    std::string model;             ///< digest of the model file that it reranks
    RerankerPointer reranker;      ///< replaced as a whole, so that other threads can go on scoring
  };

  Entry* entry_of(const LoadedDomain& domain);
  std::string file_of(const std::string& domain) const;
  Result<void> save(const std::string& domain);

  std::string folder_;
  std::mutex mutex_;
  std::mutex save_mutex_;  ///< locked before mutex_, so that searches never wait for the disk
  std::map<std::string, Entry> entries_;
};

/// The answer in the reranker's order. Results of a later window stay below those of earlier ones.
/// FusedResult::moved_from has each result's place before.
SearchAnswer reranked_answer(const LoadedDomain& domain, const SearchAnswer& answer,
                             const fusion::online::Reranker& reranker);

}  // namespace metafuse::service
