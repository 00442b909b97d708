#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "service/learning/judging.h"
#include "service/store/store.h"

namespace metafuse::service {

struct SuggestionOptions {
  std::string domain;
  UnixTime now = 0;
  std::size_t count = 20;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::vector<fusion::Feature> features;  ///< the domain's rank features; empty: those of its latest search
};

/// A base query from whose judgment a model would learn most.
struct SuggestedQuery {
  AskedQuery asked;
  double disagreement = 0;  ///< see fusion::choose_queries()
  /// Documents whose places are most uncertain, the most uncertain first.
  std::vector<std::string> documents;
};

/// Chooses queries to judge among a domain's most asked queries without judgments, using the judgments and
/// clicks so far.
///
/// out:    empty if every stored query is judged
/// errors: those of the store and of training
/// cost:   see fusion::choose_queries(); at most kMaxQueued searches are read
Result<std::vector<SuggestedQuery>> suggested_queries(Store& store, const SuggestionOptions& options);

/// Sorts the queries that this judge has not graded: suggested ones first, in the order of the suggestions,
/// then the others.
void order_by(const std::vector<SuggestedQuery>& suggestions, JudgingState& state);

}  // namespace metafuse::service
