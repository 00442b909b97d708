#pragma once

// What several of the laboratory's learners share: grades of single documents as targets, and the result of
// rounds of weak rankings.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/learners/common/rounds.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab {

/// For learners of single documents' grades, which know no pairs.
///
/// errors: usage: general feedback, or weights of queries or grades
Result<void> refuse_pair_options(const TrainingSet& set, std::string_view learner);

/// For learners whose models have numbers of the size of the features, which a model file limits.
///
/// errors: bad_data: a value beyond 1e100
Result<void> refuse_huge_features(const FeatureMatrix& documents);

/// An option that is read only beside another.
struct DependentOption {
  std::string name;
  bool is_read = false;
  std::string needs;  ///< the other option and its value
};

/// errors: usage: an option was given that would not be read
Result<void> refuse_unread(const std::map<std::string, std::string>& given,
                           const std::vector<DependentOption>& options);

/// The grades of the judged documents, ascending. If all are whole numbers and span fewer than 100, every
/// whole number from the lowest to the highest; otherwise the distinct grades.
///
/// errors: bad_data: no documents, one grade only, more than 100 grades
Result<std::vector<double>> grade_scale(const TrainingSet& set);

/// Assembles the result of a learner whose model is a SumRanker.
///
/// in: training - the model's record; add_to_line - adds the learner's own fields to the trace line of a
///     round (from 0)
TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary,
                           const std::function<void(std::size_t round, JsonObject& line)>& add_to_line);

}  // namespace metafuse::lab
