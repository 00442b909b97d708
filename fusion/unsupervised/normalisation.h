#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fusion/unsupervised/query_lists.h"

namespace metafuse::fusion {

/// Ways of making the scores of different lists comparable; always within one list of one query.
enum class Normalisation { none, min_max, max, sum, z_score, rank, borda, l2 };

std::optional<Normalisation> normalisation_of(std::string_view name);
std::string_view name_of(Normalisation normalisation);
std::string_view normalisation_names();  ///< for help and errors

/// Replaces the scores of one list.
///
/// in:     list - best first; documents - how many documents all lists of the query hold together
/// out:    min_max: (s - min) / (max - min); max: s / max; sum: (s - min) / sum of (s - min); z_score: (s -
/// mean) /
///         standard deviation (of the population); rank: 1 - (rank - 1) / length; borda: 1 - (rank - 1) /
///         documents; l2: s / Euclidean length. A divisor of 0 (all scores equal, or all 0) makes every score
///         1, of z_score 0.
/// source: Fox, Shaw 1994 (min_max); Montague, Aslam 2001 (sum, z_score); Renda, Straccia 2003 (rank, borda)
void normalise(std::vector<ListEntry>& list, Normalisation normalisation, std::size_t documents);

/// A copy of the query whose scores are normalised.
QueryLists normalised(const QueryLists& query, Normalisation normalisation);

}  // namespace metafuse::fusion
