#include "fusion/learners/similarity/similarity.h"

#include <algorithm>
#include <cmath>

#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::similarity {

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

namespace {

/// The offset that turns a feature's values into ratings: in a list, a rank counts D + 1 - rank.
double rating_offset(const Feature& feature, const Viewer& viewer) {
  if (feature.kind != FeatureKind::rank) return 0.0;
  return 1.0 + (feature.depth > 0 ? feature.depth : -viewer.lowest);
}

}  // namespace

Result<LinearRanker> vector_similarity(const TrainingSet& set) {
  TRY_VOID(rankboost::make_feedback(set));
  const std::vector<Viewer> viewers = viewers_of(set.matrix);
  const std::vector<std::size_t> documents = judged_documents(set);
  double mean = 0.0;
  double target_squares = 0.0;
  for (const std::size_t x : documents) {
    mean += set.grades[x] / static_cast<double>(documents.size());
    target_squares += set.grades[x] * set.grades[x];
  }
  std::vector<double> cosines(viewers.size(), 0.0);
  double sum = 0.0;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    double product = 0.0;
    double squares = 0.0;
    const double offset = rating_offset(set.matrix.features()[f], viewers[f]);
    for (const std::size_t x : documents)
      if (!set.matrix.is_unranked(x, f)) product += set.grades[x] * (set.matrix.value(x, f) + offset);
    for (std::size_t x = 0; x < set.matrix.document_count(); ++x) {
      if (set.matrix.is_unranked(x, f)) continue;
      const double rating = set.matrix.value(x, f) + offset;
      squares += rating * rating;
    }
    if (product == 0.0 || squares <= 0.0 || target_squares <= 0.0) continue;
    cosines[f] = product / (std::sqrt(squares) * std::sqrt(target_squares));
    sum += std::abs(cosines[f]);
  }
  double offset = mean;
  std::vector<LinearTerm> terms;
  for (std::size_t f = 0; f < viewers.size(); ++f) {
    if (cosines[f] == 0.0) continue;
    const double weight = cosines[f] / sum;
    offset -= weight * viewers[f].mean;
    terms.push_back({static_cast<std::uint32_t>(f), weight, viewers[f].mean});  // no deviation if unrated
  }
  return LinearRanker(offset, std::move(terms), viewers.size());
}

}  // namespace metafuse::fusion::similarity
