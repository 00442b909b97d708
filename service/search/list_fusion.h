#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fetchers/calling/fetcher.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// The rank feature that each list fills, numbered among the features that are not derived.
struct FeatureColumns {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<std::size_t> of_list;  ///< kNone for a list that no feature reads
  std::size_t count = 0;
};

/// in: list_names - the name of each list's feature; several lists may have the same
FeatureColumns feature_columns(const std::vector<std::string_view>& list_names,
                               const std::vector<fusion::Feature>& features);

/// The instances under a model's features; serving and learning from feedback both use it. If several lists
/// belong to one feature (the template's own and a caller's variants), the best rank counts. A feature
/// without a list leaves every document unranked.
fusion::QueryInstances instances_by_feature(const fusion::QueryInstances& by_list,
                                            const FeatureColumns& columns);

// Windows: result pages beyond the lists' depth. A list counts down to its domain's depth, as in training. A
// page further down makes the engines deliver the next window of that depth. Results of a window are placed
// below all results of earlier windows, so that no page changes because a later one was requested. For the
// same reason a window's ranks begin behind those of a full window before it, even if that had fewer hits.

/// How many windows of a list one search may ask for.
inline constexpr int kMostWindows = 10;
/// Most results on one page, in any dialect.
inline constexpr std::size_t kMostPerPage = 500;
/// How many windows may be asked for to replace results that do not meet a query's conditions.
inline constexpr int kMostNarrowedWindows = 3;

/// The ranks of a list's hits: those of window w, from 0, begin at w * depth + 1.
class WindowRanks {
 public:
  /// The list must outlive it.
  WindowRanks(const fetchers::FetchedList& list, int depth);

  /// How many hits came with a window.
  std::size_t hits_in(std::size_t window) const;
  /// The position of the hit that has this rank, from 0.
  std::size_t position_of(std::size_t rank) const;
  /// The rank of each hit; empty if they are 1, 2, 3 and so on.
  std::vector<std::uint32_t> of_hits() const;

 private:
  std::size_t hits_, depth_;
  std::span<const std::size_t> in_window_;  ///< of the list
};

/// Replaces the positions of one list's hits, from 1, by their ranks.
///
/// in: ranks - WindowRanks::of_hits()
void set_ranks(std::span<const std::uint32_t> ranks, std::size_t list, fusion::QueryInstances& instances);

/// Whether the engines may hold more: some engine's list filled half of the last window, as five pages of ten
/// results do at depth 100, and the answer has fewer than kMostWindows.
bool may_hold_more(const SearchAnswer& answer, int depth);

/// Appends the next window's lists to those so far. A list that failed in either counts as failed and keeps
/// the hits that it had; one that lacks pages gets no more.
std::vector<fetchers::FetchedList> joined_lists(const std::vector<fetchers::FetchedList>& so_far,
                                                std::vector<fetchers::FetchedList> next);

/// Removes a document's ranks below the window in which it first occurs, so that its ranks are those it had
/// when that window was the last one.
///
/// out: the first window of each document, from 0
std::vector<std::uint32_t> mask_later_windows(fusion::QueryInstances& instances, int depth);

/// Sorts documents by window, earlier windows first; stable.
void order_by_window(const std::vector<std::uint32_t>& windows, std::vector<std::uint32_t>& order);

/// Merges lists into the answer's fused ranking. Live, recorded and partial lists all use this function.
///
/// in:     lists - one per feature, failed ones empty, every page once and with its key; domain - its model
///         fuses, or RRF if it has none
/// out:    results in the order of fusion::order_instances(), without those that meet the conditions of none
///         of the answer's typed queries
/// cost:   O(hits x features)
void fuse_lists(const LoadedDomain& domain, std::vector<fetchers::FetchedList> lists, SearchAnswer& answer);

/// The lists of a fused answer, joined once, to ask what would change without each of them.
class JoinedLists {
 public:
  /// The domain and the answer must outlive it.
  JoinedLists(const LoadedDomain& domain, const SearchAnswer& answer);

  /// The places that the model would give to the answer's results if one of its lists were empty.
  ///
  /// in:   list - index in answer.lists
  /// out:  one per result, from 1; 0 for a result that no other list holds
  /// cost: O(documents x lists + documents log documents)
  std::vector<std::size_t> places_without(std::size_t list) const;

 private:
  static constexpr std::size_t kNotShown = static_cast<std::size_t>(-1);

  const LoadedDomain& domain_;
  const SearchAnswer& answer_;
  fusion::QueryInstances by_list_;
  std::vector<std::size_t>
      position_;  ///< of each document among the results; some do not meet the conditions
};

/// The keys of all documents of a fused answer's lists in the order of another model than the domain's, also
/// of those that are no results of their own.
///
/// out: views into the answer
std::vector<std::string_view> keys_by(const fusion::Model& model, const SearchAnswer& answer);

/// What each feature adds to one result's score; empty if the ranker is not a sum over features.
std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result);

}  // namespace metafuse::service
