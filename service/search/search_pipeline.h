#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/fetcher.h"
#include "fusion/feature_matrix.h"
#include "fusion/fuse.h"
#include "service/config/snapshot.h"
#include "service/search/list_keys.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// A query that the caller expanded itself: one more ranking feature under a declared template's name.
struct QueryVariant {
  std::string template_id;
  std::string text;
  bool is_raw = false;  ///< sent as it is, without the engine's syntax filter
};

/// What one search asks for, whatever dialect it came in.
struct SearchRequest {
  std::string domain;  ///< empty for the default domain
  std::string text;    ///< a plain query: fills the slot QUERY or the first required one
  BaseQuery slots;
  std::vector<QueryVariant> variants;
  std::vector<std::string> engines;  ///< only these engines' features; empty for all
  int depth = 0;                     ///< results of each list, 0 for the domain's
  int page = 1;
  std::size_t results = 0;  ///< how far down the answer its reader looks; 0 for no further than the lists
  int windows = 1;          ///< of the domain's depth that each list is followed; see list_windows.h
  std::string language;
  std::string time_range;
  int safe_search = 0;
  double deadline_seconds = 0;  ///< 0 for the configuration's
  int hops = 0;                 ///< meta-search servers that the query came through
};

/// Where one list ranked a result.
struct Placement {
  std::size_t feature = 0;
  int rank = 0;
};

/// One result of the fused ranking.
struct FusedResult {
  std::string key;  ///< canonical URL key
  Hit hit;          ///< as the best-ranked list delivered it
  std::vector<Placement> placements;
  double score = 0;            ///< the ranker's
  double relative_score = 0;   ///< within [0, 1], best 1; never rises down the answer
  std::size_t document = 0;    ///< its instance in the answer's fusion state
  std::size_t moved_from = 0;  ///< place by the model, from 1, where an online reranker ordered; else 0
  double online_score = 0;     ///< the reranker's, where moved_from says that one ordered
};

/// How the results were ordered.
struct FusionNote {
  std::string method;              ///< "rankboost", "rrf", ...
  std::string model;               ///< name of the model file, empty without a model
  std::string version;             ///< digest of the model file, empty without a model
  std::string challenger;          ///< version that the results are interleaved with, empty for none
  std::uint64_t online_steps = 0;  ///< examples that the online reranker learned from; 0 when none ordered
  std::string notice;              ///< what a user should hear: why no model was used
};

/// The fused ranking as the ranker saw it, with the keys that it refers to.
struct FusionState {
  std::vector<ListKeys> keys;  ///< a list each
  fusion::FusedRanking ranking;
};

/// The answer to one search.
struct SearchAnswer {
  std::string domain;
  std::string query;  ///< the plain query, or the slots' values joined by spaces
  BaseQuery slots;
  std::vector<fusion::Feature> features;     ///< one for each list that was asked for
  std::vector<fetchers::FetchedList> lists;  ///< a feature each, failed ones empty
  std::shared_ptr<const FusionState> state;  ///< what explains a result
  std::vector<FusedResult> results;          ///< best first, all of them
  int windows = 1;                           ///< of the domain's depth that the lists hold
  std::vector<Team> teams;                   ///< who placed each result; empty without interleaving
  std::vector<std::string> suggestions;
  FusionNote fusion;
  double fetch_seconds = 0;
  double fuse_seconds = 0;

  bool has_failures() const;
};

/// Called with the fused answer to the lists so far.
using PartialAnswer =
    std::function<void(const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted)>;

/// The expanded queries of a request, in the order of the domain's features, variants last.
///
/// errors: usage: no such domain, no query, unknown or missing slots, a variant of an undeclared template,
///         more than 16 variants or 64 expanded queries
Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const SearchRequest& request);

/// Merges lists into the answer's fused ranking; the same function serves live, recorded and partial lists.
///
/// in:     lists - one a feature, failed ones empty; domain - whose model fuses, by RRF when it has none
/// out:    results in the order of fusion::order_instances
/// cost:   O(hits x features)
void fuse_lists(const LoadedDomain& domain, std::vector<fetchers::FetchedList> lists, SearchAnswer& answer);

/// How much each feature contributes to one result's score; empty when the ranker is not a sum over features.
std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result);

/// Expands, fetches and fuses: what `metafuse search` and every dialect of the server run.
///
/// in:     on_partial - called after each list from half of them on; may be empty
/// errors: usage as expand_request; unavailable never: engines that fail are named in the answer
Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial = {});

/// The answer of one more window: request.windows is one more than `so_far` has.
///
/// errors: those of search()
Result<SearchAnswer> search_further(const Snapshot& snapshot, const SearchRequest& request,
                                    const Clock& clock, const SearchAnswer& so_far);

}  // namespace metafuse::service
