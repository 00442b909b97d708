#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/fused_order.h"

namespace metafuse::fusion {

/// One entry of a list.
struct ListEntry {
  std::uint32_t document = 0;  ///< number within the query
  double score = 0.0;          ///< as given by the engine or run
};

/// The lists of one query as fusion methods see them: documents are numbers, and position 0 of a list has
/// rank 1.
struct QueryLists {
  std::vector<std::string_view> documents;  ///< id by document number, each once
  /// One per run, empty if the run has none; no document occurs twice in a list.
  std::vector<std::vector<ListEntry>> lists;

  std::size_t size() const { return documents.size(); }
};

/// Turns the rank features of some rows back into the lists they came from. Documents are numbered from
/// `begin`, and an entry's score is minus its rank.
QueryLists lists_of(const FeatureMatrix& matrix, std::size_t begin, std::size_t end);

/// The standing of every document.
std::vector<Standing> standings(const QueryLists& query);

/// Document numbers, ordered by score and the tie rule (fusion/data/fused_order.h).
///
/// in:   known - the query's standings if the caller has computed them, else empty
/// cost: O(documents log documents)
std::vector<std::uint32_t> fused_order(const QueryLists& query, std::span<const double> scores,
                                       std::span<const Standing> known = {});

/// Document numbers, ordered by score, then by best rank, then by number. For lists that a caller hands over:
/// their documents are numbered as the lists first name them, so how ids are spelled does not matter.
///
/// cost: O(documents log documents)
std::vector<std::uint32_t> callers_order(const QueryLists& query, std::span<const double> scores);

/// How many lists hold each document.
std::vector<double> list_counts(const QueryLists& query);

/// Ranks from 1, list by list: rank_table[list * documents + document]; 0 if unranked.
std::vector<std::uint32_t> rank_table(const QueryLists& query);

/// Ways to make the scores of different lists comparable. Each applies within one list of one query.
enum class Normalisation { none, min_max, max, sum, z_score, rank, borda, l2 };

std::optional<Normalisation> normalisation_of(std::string_view name);
std::string_view name_of(Normalisation normalisation);
std::string_view normalisation_names();  ///< for help texts and error messages

/// Normalises the scores of one list.
///
/// in:     list - best first; documents - number of documents in all lists of the query together
/// out:    min_max: (s - min) / (max - min); max: s / max; sum: (s - min) / sum of (s - min);
///         z_score: (s - mean) / standard deviation (of the population); rank: 1 - (rank - 1) / length;
///         borda: 1 - (rank - 1) / documents; l2: s / Euclidean length.
///         A divisor of 0 (all scores equal, or all 0) makes every score 1, of z_score 0.
/// source: Fox, Shaw 1994 (min_max); Montague, Aslam 2001 (sum, z_score); Renda, Straccia 2003 (rank, borda)
void normalise(std::vector<ListEntry>& list, Normalisation normalisation, std::size_t documents);

/// A copy of the query whose scores are normalised.
QueryLists normalised(const QueryLists& query, Normalisation normalisation);

}  // namespace metafuse::fusion
