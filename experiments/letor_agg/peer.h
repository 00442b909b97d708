#pragma once

#include <string>
#include <vector>

#include "experiments/letor_agg/fold.h"

namespace metafuse::experiments::letor_agg {

/// The configurations of another learner that was trained elsewhere: folders of runs,
/// DIR/CONFIGURATION/SET/foldN/{validation,test,refitted}.run, as scripts/letor-agg-xgboost writes them.
///
/// out:    the folders' names, ascending; none for an empty path
/// errors: no_input when there is no such folder, or nothing in it
Result<std::vector<std::string>> peer_configurations(const std::string& folder);

/// Measures a run on the documents of a part, ties as everywhere.
///
/// in:     part - "validation" or "test", whose set is `set`, or "refitted": the test part by a model of
/// training
///         and validation parts
/// errors: those of reading runs; bad_data naming the first document without a score
Result<Values> peer_values(const std::string& folder, const std::string& configuration, const Fold& fold,
                           const std::string& part, const fusion::TrainingSet& set,
                           const evaluation::MeasureSet& measures);

}  // namespace metafuse::experiments::letor_agg
