#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "fusion/learners/adaboost_mh/training_data.h"

namespace metafuse::experiments::calibrated {

/// A LETOR set of five parts, with what was published for it.
struct DataSet {
  std::string name;
  std::string folder;  ///< below --data; parts are S1.txt to S5.txt, packed or not
  evaluation::Mode mode = evaluation::Mode::letor3;
  std::string measure;                                    ///< the paper's: "ndcg_cut_10" or "mean_ndcg"
  std::vector<std::pair<std::string, double>> published;  ///< by the names of our rows, then other methods
};

/// OHSUMED, MQ2008 and MQ2007, the last only when it is there.
std::vector<DataSet> data_sets(const std::string& data);

/// One fold, as LETOR cuts it.
struct FoldData {
  std::vector<double> grades;
  fusion::TrainingSet train;
  fusion::TrainingSet test_set;
  fusion::TrainingSet validation_set;
  fusion::adaboost_mh::GradedDocuments training;
  fusion::adaboost_mh::GradedDocuments validation;
  fusion::adaboost_mh::GradedDocuments test;
  std::vector<std::size_t> test_lines;  ///< where each test document stands in its file, for equal scores
};

/// Fold 1 ... 5: three parts to train, the next to validate, the next to test, as LETOR cuts them.
///
/// errors: those of the files
Result<FoldData> read_fold(const DataSet& set, const std::string& data, int fold);

}  // namespace metafuse::experiments::calibrated
