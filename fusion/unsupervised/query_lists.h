#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fusion/data/standing.h"

namespace metafuse::fusion {

/// One place of a list.
struct ListEntry {
  std::uint32_t document = 0;  ///< number within the query
  double score = 0.0;          ///< as the engine or run gave it
};

/// The lists of one query as fusion methods see them: documents are numbers, position 0 of a list has rank 1.
struct QueryLists {
  std::vector<std::string_view> documents;  ///< id of each number; every id once
  std::vector<std::vector<ListEntry>>
      lists;  ///< one a run, empty where a run has none; no document twice in a list

  std::size_t size() const { return documents.size(); }
};

/// The standing of every document.
std::vector<Standing> standings(const QueryLists& query);

/// Document numbers, best first: score descending, then more lists, better best rank, id ascending bytewise.
/// in:   known - the query's standings where the caller has them, else empty
/// cost: O(documents log documents)
std::vector<std::uint32_t> fused_order(const QueryLists& query, std::span<const double> scores,
                                       std::span<const Standing> known = {});

/// How many lists hold each document.
std::vector<double> list_counts(const QueryLists& query);

/// 1-based ranks, list by list: rank_table[list * documents + document], 0 where unranked.
std::vector<std::uint32_t> rank_table(const QueryLists& query);

}  // namespace metafuse::fusion
