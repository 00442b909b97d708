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

/// A base query whose judgment would tell a model most.
struct SuggestedQuery {
  AskedQuery asked;
  double disagreement = 0;             ///< see fusion::choose_queries()
  std::vector<std::string> documents;  ///< whose place is least settled, the least settled first
};

/// Chooses among a domain's most asked queries without a judgment, by what is judged and clicked so far.
///
/// out:    empty where every stored query is judged
/// errors: those of the store and of training
/// cost:   see fusion::choose_queries(); at most kMaxQueued searches are read
Result<std::vector<SuggestedQuery>> suggested_queries(Store& store, const SuggestionOptions& options);

/// Puts the queries that this judge has not graded into the order of the suggestions, others of them behind.
void order_by(const std::vector<SuggestedQuery>& suggestions, JudgingState& state);

}  // namespace metafuse::service
