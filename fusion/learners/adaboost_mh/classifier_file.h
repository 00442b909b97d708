#pragma once

#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/adaboost_mh/strong_classifier.h"

namespace metafuse::fusion::adaboost_mh {

/// {"cuts":[[...]...]}: a feature's cuts ascending, null for minus infinity.
JsonArray to_json(const CutTable& table);
/// errors: bad_data
Result<CutTable> read_cut_table(const JsonArray& array, std::size_t features);

/// What the body of every model of this folder begins with: its grades, ascending, and its cuts.
struct GradedCuts {
  std::vector<double> grades;
  CutTable table;
};
/// errors: bad_data, naming the field
Result<GradedCuts> read_graded_cuts(const JsonObject& body, std::size_t features);

/// [{"alpha","votes":[...],"terms":[[feature, cut]...]} or {..., "nodes":[[feature, cut, below,
/// above]...]}...]; a child is a node's place in the list, or -1 - leaf; a leaf's votes are K of "votes".
JsonArray to_json(const StrongClassifier& classifier);
/// errors: bad_data: a feature, cut, node or leaf that does not exist, a cycle, votes other than -1 and 1
Result<StrongClassifier> read_classifier(const JsonArray& array, std::size_t classes, const CutTable& table);

}  // namespace metafuse::fusion::adaboost_mh
