#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fetchers/fetcher.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// Which rank feature each list fills, counted among the features that are not derived.
struct FeatureColumns {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<std::size_t> of_list;  ///< kNone for a list that no feature reads
  std::size_t count = 0;
};

/// in: list_names - the feature that each list stands for; several may stand for one
FeatureColumns feature_columns(const std::vector<std::string_view>& list_names,
                               const std::vector<fusion::Feature>& features);

/// The instances as a model's features see them, served and learned from feedback alike: of several lists of
/// one feature (the template's own and a caller's variants) the best rank counts, and a feature without a
/// list leaves every document unranked.
fusion::QueryInstances instances_by_feature(const fusion::QueryInstances& by_list,
                                            const FeatureColumns& columns);

// Pages beyond what the lists hold. A list counts to its domain's depth, as in training; a page that lies
// further down asks the engines for the next window of that depth. What a window brings stands below
// everything of the windows before it, so that a page never changes because a later one was asked for.

/// How many windows of a list one search follows.
inline constexpr int kMostWindows = 10;
/// How many, to make up for results that do not meet the conditions of a query.
inline constexpr int kMostNarrowedWindows = 3;

/// Whether some list filled more than half of the last window, and another one may be asked for.
bool may_hold_more(const SearchAnswer& answer, int depth);

/// Whether a request looks for results past the lists' depth that the answer so far does not hold, or misses
/// results that were left out by the conditions of its query.
///
/// in: blocked - results of the answer that its reader does not want to see
bool wants_next_window(const LoadedDomain& domain, const SearchRequest& request, const SearchAnswer& answer,
                       std::size_t blocked);

/// The lists of the windows so far, continued. A list that failed in either is named as failed, and keeps
/// what it had.
std::vector<fetchers::FetchedList> joined_lists(const std::vector<fetchers::FetchedList>& so_far,
                                                std::vector<fetchers::FetchedList> next);

/// Removes the ranks that a document has below the window in which it is first seen: what it had when that
/// window was the last one.
///
/// out: the window of each document, from 0
std::vector<std::uint32_t> mask_later_windows(fusion::QueryInstances& instances, int depth);

/// Earlier windows first; stable.
void order_by_window(const std::vector<std::uint32_t>& windows, std::vector<std::uint32_t>& order);

/// Merges lists into the answer's fused ranking; the same function serves live, recorded and partial lists.
///
/// in:     lists - one a feature, failed ones empty; domain - whose model fuses, by RRF when it has none
/// out:    results in the order of fusion::order_instances, without those that do not meet answer.typed
/// cost:   O(hits x features)
void fuse_lists(const LoadedDomain& domain, std::vector<fetchers::FetchedList> lists, SearchAnswer& answer);

/// The places that an answer's results would have by the model if one of its lists had held nothing.
///
/// in:   list - its place in answer.lists
/// out:  one for each result of the answer, from 1; 0 for a result that no other list holds
/// cost: as fuse_lists()
std::vector<std::size_t> places_without(const LoadedDomain& domain, const SearchAnswer& answer,
                                        std::size_t list);

/// How many results the windows hold that the first page of `limit` results needs: the same number
/// on every page.
std::size_t stable_total(const SearchAnswer& answer, int depth, std::size_t limit);

/// How much each feature contributes to one result's score; empty when the ranker is not a sum over features.
std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result);

}  // namespace metafuse::service
