#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fusion/learners/adaboost_mh/training_data.h"

namespace metafuse::fusion::adaboost_mh {

/// Which documents one classifier leaves out of its training, to be calibrated on.
struct CalibrationSplit {
  std::vector<std::uint8_t> left_out;    ///< 1 or 0, one a document
  std::vector<std::uint32_t> documents;  ///< those left out, ascending
  std::vector<int> classes;              ///< of those left out
  std::vector<RowRange> queries;         ///< ranges of those left out; queries with one or more of them
};

/// A random share of the documents, at least one, and at least one stays.
///
/// Requires two documents or more.
CalibrationSplit draw_split(const GradedDocuments& documents, double share, Random random);

}  // namespace metafuse::fusion::adaboost_mh
