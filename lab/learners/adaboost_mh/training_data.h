#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "fusion/data/training_set.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::adaboost_mh {

/// Documents of one query: rows [begin, end).
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The data that a calibration is fitted to.
struct CalibrationData {
  std::size_t width = 0;          ///< numbers per document: K votes of AdaBoost.MH, or one score
  std::span<const double> votes;  ///< documents x width
  std::span<const int> classes;   ///< one per document, 0 ... K - 1
  std::vector<double> gains;      ///< gamma of each class: 2^grade - 1
  std::vector<RowRange> queries;

  std::size_t size() const { return classes.size(); }
  const double* row(std::size_t document) const { return votes.data() + document * width; }
};

/// Whether every document has the same votes, so that nothing can be fitted.
inline bool are_votes_constant(const CalibrationData& data) {
  for (std::size_t d = 1; d < data.size(); ++d)
    for (std::size_t l = 0; l < data.width; ++l)
      if (data.row(d)[l] != data.row(0)[l]) return false;
  return true;
}

/// Documents with classes: a document's class is the index of its grade among all grades.
struct GradedDocuments {
  FeatureMatrix matrix;      ///< of the documents that take part
  std::vector<int> classes;  ///< one per document
  std::vector<RowRange> queries;
};

/// The grades of a set, to be used as classes (whole numbers without gaps).
///
/// errors: usage: feedback that is not by grades; bad_data: a single grade, more than 20 classes, grades
///         above 40
Result<std::vector<double>> class_grades(const TrainingSet& set);

/// errors: bad_data: a grade that is not among `grades` (for example in a validation set)
Result<GradedDocuments> graded_documents(const TrainingSet& set, const std::vector<double>& grades);

/// The documents that one classifier leaves out of its training and is calibrated on.
struct CalibrationSplit {
  std::vector<std::uint8_t> left_out;    ///< one per document: 1 if left out, else 0
  std::vector<std::uint32_t> documents;  ///< the documents left out, ascending
  std::vector<int> classes;              ///< of the documents left out
  std::vector<RowRange> queries;         ///< ranges of the documents left out, for queries that have any
};

/// Draws a random share of the documents to leave out, which is at least one and never all.
///
/// Requires two documents or more.
CalibrationSplit draw_split(const GradedDocuments& documents, double share, Random random);

}  // namespace metafuse::lab::adaboost_mh
