#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/adaboost_mh/calibration_data.h"

namespace metafuse::fusion::adaboost_mh {

/// Documents with classes: the grades of a training set, each as its place among all grades.
struct GradedDocuments {
  FeatureMatrix matrix;      ///< of the documents that take part
  std::vector<int> classes;  ///< one a document
  std::vector<RowRange> queries;
};

/// The grades of a set as classes (whole numbers without gaps).
///
/// errors: usage: feedback that is not by grades; bad_data: one grade only, more than 20 classes, grades
/// above 40
Result<std::vector<double>> class_grades(const TrainingSet& set);

/// errors: bad_data: a grade that is not among `grades` (of a validation set, for example)
Result<GradedDocuments> graded_documents(const TrainingSet& set, const std::vector<double>& grades);

}  // namespace metafuse::fusion::adaboost_mh
