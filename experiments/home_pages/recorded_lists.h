#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "experiments/home_pages/base_queries.h"
#include "fetchers/embedded/local_engine.h"
#include "fusion/data/training_set.h"
#include "templates/search_template.h"

namespace metafuse::experiments::home_pages {

/// What the search templates found for one base query: canonical URL keys, best first, a list a template.
struct RecordedQuery {
  std::string id;
  std::string answer;  ///< its canonical key
  std::vector<std::vector<std::string>> lists;
};

/// Expands every base query and asks the embedded engine.
///
/// in:     domain - templates whose only engine is the embedded one
/// errors: those of the expansion and of the index
/// cost:   queries x templates searches, spread over the threads
Result<std::vector<RecordedQuery>> record_lists(const templates::Domain& domain,
                                                fetchers::LocalEngine& engine,
                                                std::span<const JudgedQuery> queries, unsigned threads);

/// The training set of recorded lists: a rank feature a template, grade 1 for the answer, 0 for the rest.
Result<fusion::TrainingSet> to_training_set(const templates::Domain& domain,
                                            std::span<const RecordedQuery> queries);

}  // namespace metafuse::experiments::home_pages
