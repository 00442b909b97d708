#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::fusion::baselines {

/// A feature seen as a viewer's ratings (Freund et al. 2003, sec. 6.2.1), over every document of the set, in
/// feedback or not.
struct Viewer {
  std::size_t rated = 0;
  double mean = 0.0;       ///< 0 when nothing is rated
  double deviation = 0.0;  ///< standard deviation; 0 when all ratings are equal
  double lowest = 0.0;
  std::vector<double> values;  ///< distinct, ascending
};

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix);

/// The rating scale R: the distinct values of all features together when there are at most `most`, else
/// empty.
std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most);

/// The documents that feedback speaks of.
std::vector<std::size_t> judged_documents(const TrainingSet& set);

}  // namespace metafuse::fusion::baselines
