#include "fusion/learners/baselines/viewers.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace metafuse::fusion::baselines {

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix) {
  std::vector<Viewer> viewers(matrix.feature_count());
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    Viewer& viewer = viewers[f];
    for (std::size_t x = 0; x < matrix.document_count(); ++x) {
      if (matrix.is_unranked(x, f)) continue;
      viewer.values.push_back(matrix.value(x, f));
      viewer.mean += viewer.values.back();
    }
    viewer.rated = viewer.values.size();
    if (viewer.rated == 0) continue;
    const auto rated = static_cast<double>(viewer.rated);
    viewer.mean /= rated;
    double squares = 0.0;
    for (const double value : viewer.values) squares += (value - viewer.mean) * (value - viewer.mean);
    viewer.deviation = std::sqrt(squares / rated);
    std::sort(viewer.values.begin(), viewer.values.end());
    viewer.values.erase(std::unique(viewer.values.begin(), viewer.values.end()), viewer.values.end());
    viewer.lowest = viewer.values.front();
    if (viewer.values.size() == 1) viewer.deviation = 0.0;
  }
  return viewers;
}

std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most) {
  std::set<double> scale;
  for (const Viewer& viewer : viewers) {
    scale.insert(viewer.values.begin(), viewer.values.end());
    if (scale.size() > most) return {};
  }
  return {scale.begin(), scale.end()};
}

std::vector<std::size_t> judged_documents(const TrainingSet& set) {
  std::vector<std::size_t> documents;
  for (std::size_t x = 0; x < set.matrix.document_count(); ++x)
    if (set.in_feedback.empty() || set.in_feedback[x] != 0) documents.push_back(x);
  return documents;
}

}  // namespace metafuse::fusion::baselines
