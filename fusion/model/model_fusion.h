#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/model/model_file.h"
#include "fusion/unsupervised/fuse_runs.h"

namespace metafuse::fusion {

/// A model as a way of scoring the documents of one query by the lists that rank them: what `fuse --model`
/// and tables that compare methods use. The features are made as in training (fusion/data/features.h).
///
/// in:     names - of the lists, in their order
/// errors: as match_features; bad_data for a model whose features are not ranks
Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing);

}  // namespace metafuse::fusion
