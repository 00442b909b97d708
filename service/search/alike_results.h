#pragma once

#include <functional>
#include <vector>

#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// In how many bits the fingerprints of nearly equal texts differ at most.
inline constexpr int kMostDifferingBits = 8;
/// The least share of pairs of neighbouring words that snippets of nearly equal texts have in common.
inline constexpr double kLeastCommonPairs = 0.8;

/// Whether two results show the same text, or nearly. Fingerprints of whole texts decide if both have one.
/// Else the snippets must have most pairs of words in common, and the titles all words of the shorter one and
/// all numbers. Results of fewer than eight words are never alike.
bool are_alike(const Hit& a, const Hit& b);

/// Puts each of the first results below the best result that it is alike, as FusedResult::alike. Lists that
/// callers bring, which have no engine, are left as they are.
///
/// cost: O(words of the first 300 results), and a comparison for each pair with a rare hash or fingerprints
void fold_alike(SearchAnswer& answer);

/// Puts a site's results from the third on, and what is alike them, below its second, as
/// FusedResult::same_site. Files have no site.
void group_sites(SearchAnswer& answer);

/// Both, as the domain wants it.
void fold_results(const LoadedDomain& domain, SearchAnswer& answer);

using HitTest = std::function<bool(const Hit&)>;

/// Leaves out what is hidden below a result, and lets another of the results alike take its place if that one
/// is wanted there or if the result itself is hidden. The placements and scores stay those of the result. One
/// that came with a later window comes up as a result of that window instead, because earlier pages were
/// shown without it.
///
/// in:  is_hidden, is_wanted - of a hit with its key
/// out: risen - what comes up is appended
void choose_head(FusedResult& result, const HitTest& is_hidden, const HitTest& is_wanted,
                 std::vector<FusedResult>& risen);

/// What was folded below a result as a result of its own, which has the scores of that one.
FusedResult risen_result(FoldedHit hit, const FusedResult& above);

}  // namespace metafuse::service
