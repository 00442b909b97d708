#include <cmath>

#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/baselines/viewers.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"

namespace metafuse::fusion::baselines {

Result<LinearRanker> vector_similarity(const TrainingSet& set) {
  TRY_VOID(rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
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
    for (const std::size_t x : documents)
      if (!set.matrix.is_unranked(x, f)) product += set.grades[x] * set.matrix.value(x, f);
    for (std::size_t x = 0; x < set.matrix.document_count(); ++x)
      if (!set.matrix.is_unranked(x, f)) squares += set.matrix.value(x, f) * set.matrix.value(x, f);
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
    terms.push_back({static_cast<std::uint32_t>(f), weight, viewers[f].mean});  // unrated: no deviation
  }
  return LinearRanker(offset, std::move(terms), viewers.size());
}

}  // namespace metafuse::fusion::baselines
