#include <algorithm>
#include <cmath>

#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/baselines/viewers.h"
#include "fusion/learners/rankboost_plus/losses.h"

namespace metafuse::fusion::baselines {
namespace {

constexpr std::size_t kLargestScale = 100;

struct Neighbour {
  std::size_t feature = 0;
  double unranked = 0.0;
  double loss = 2.0;
};

class Search {
 public:
  Search(const TrainingSet& set, const rankboost_plus::PairRows& pairs)
      : set_(set),
        pairs_(pairs),
        viewers_(viewers_of(set.matrix)),
        scale_(shared_scale(viewers_, kLargestScale)),
        judged_(judged_documents(set)),
        paired_(judged_) {
    for (const WeightedPair& pair : set.pairs) paired_.insert(paired_.end(), {pair.below, pair.above});
  }

  /// A feature with its best default; loss 2 when it ranks nothing.
  Neighbour neighbour(std::size_t f, bool is_mean_default) const {
    const Viewer& viewer = viewers_[f];
    Neighbour best{f, viewer.mean, 2.0};
    if (viewer.rated == 0) return best;
    const bool ranks_all = std::none_of(judged_.begin(), judged_.end(),
                                        [&](std::size_t x) { return set_.matrix.is_unranked(x, f); });
    if (is_mean_default || ranks_all) return {f, viewer.mean, loss(f, viewer.mean)};
    std::vector<double> defaults = scale_.empty() ? viewer.values : scale_;
    defaults.insert(defaults.begin(), std::min(defaults.front(), viewer.lowest) - 1.0);
    for (const double unranked : defaults)
      if (const double here = loss(f, unranked); here < best.loss - 1e-12) best = {f, unranked, here};
    return best;
  }

  double loss(std::size_t f, double unranked) const {
    std::vector<double> scores(set_.matrix.document_count(), 0.0);
    for (const std::size_t x : paired_)
      scores[x] = set_.matrix.is_unranked(x, f) ? unranked : set_.matrix.value(x, f);
    return rankboost_plus::rank_losses(pairs_, scores).r2;
  }

  const std::vector<Viewer>& viewers() const { return viewers_; }

 private:
  const TrainingSet& set_;
  const rankboost_plus::PairRows& pairs_;
  std::vector<Viewer> viewers_;
  std::vector<double> scale_;
  std::vector<std::size_t> judged_;
  std::vector<std::size_t> paired_;  // the documents whose scores a loss asks for
};

}  // namespace

Result<LinearRanker> nearest_neighbour(const TrainingSet& set, const NeighbourOptions& options) {
  TRY(const auto pairs, rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const Search search(set, pairs);
  std::vector<Neighbour> neighbours;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
    if (const Neighbour found = search.neighbour(f, options.is_mean_default); found.loss < 2.0)
      neighbours.push_back(found);
  std::stable_sort(neighbours.begin(), neighbours.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.loss < b.loss; });
  neighbours.resize(std::min(options.k, neighbours.size()));
  std::vector<LinearTerm> terms;
  for (const Neighbour& neighbour : neighbours)
    terms.push_back({static_cast<std::uint32_t>(neighbour.feature),
                     1.0 / static_cast<double>(neighbours.size()), neighbour.unranked});
  return LinearRanker(0.0, std::move(terms), set.matrix.feature_count());
}

Result<LinearRanker> best_feature(const TrainingSet& set) {
  TRY(const auto pairs, rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const Search search(set, pairs);
  Neighbour best;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
    if (search.viewers()[f].rated == 0) continue;
    const double below = search.viewers()[f].lowest - 1.0;
    if (const double loss = search.loss(f, below); loss < best.loss - 1e-12) best = {f, below, loss};
  }
  std::vector<LinearTerm> terms;
  if (best.loss < 2.0) terms.push_back({static_cast<std::uint32_t>(best.feature), 1.0, best.unranked});
  return LinearRanker(0.0, std::move(terms), set.matrix.feature_count());
}

LinearRanker random_guessing(const TrainingSet& set) {
  return LinearRanker(0.0, {}, set.matrix.feature_count());
}

}  // namespace metafuse::fusion::baselines
