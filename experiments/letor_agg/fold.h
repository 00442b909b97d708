#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "fusion/input/training_input.h"

namespace metafuse::experiments::letor_agg {

inline constexpr std::array kSets = {"MQ2008-agg", "MQ2007-agg"};
inline constexpr int kFolds = 5;
inline constexpr const char* kMeasures = "ndcg_burges_10,mean_ndcg_burges,map_all";
inline constexpr std::array kMeasureTitles = {"NDCG@10", "MeanNDCG", "MAP"};
inline constexpr std::size_t kMeasureCount = kMeasureTitles.size();

/// One of the official folds: three parts to train on, one to choose by, one to test on.
struct Fold {
  std::string set;
  int number = 0;  ///< from 1
  std::vector<std::string> train;
  std::string validate;
  std::string test;
};

/// The five folds of both sets, set by set. errors: no_input naming the first missing part
Result<std::vector<Fold>> official_folds(const std::string& data);

/// How the grades of a part become feedback, and what is computed from its ranks.
struct Reading {
  std::string query_weights = "equal";
  fusion::FeedbackOptions::GradeWeights grade_weights = fusion::FeedbackOptions::GradeWeights::one;
  std::string derive;
};

/// in: expected - the features that the parts must have, when not empty
Result<fusion::TrainingSet> read_parts(const std::vector<std::string>& files, const Reading& reading,
                                       const std::vector<fusion::Feature>& expected = {});

/// Values of one method on the queries of a part, or of several: queries x measures.
using Values = std::vector<std::vector<double>>;

/// The mean of every measure.
std::vector<double> mean_of(const Values& values);

/// What configurations and numbers of rounds are chosen by: the mean of the three measures.
double criterion(const Values& values);

}  // namespace metafuse::experiments::letor_agg
