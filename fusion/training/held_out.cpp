#include "fusion/training/held_out.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "core/parallel.h"

namespace metafuse::fusion {
namespace {

/// Maps scores of one model to those of another at the same quantile of documents that both have scored.
class QuantileMap {
 public:
  QuantileMap(std::vector<double> from, std::vector<double> to) : from_(std::move(from)), to_(std::move(to)) {
    std::ranges::sort(from_);
    std::ranges::sort(to_);
  }

  double operator()(double score) const {
    const auto [first, last] = std::ranges::equal_range(from_, score);
    const auto below = static_cast<double>(first - from_.begin());
    if (first != last) return at(below + static_cast<double>(last - first - 1) / 2);
    if (first == from_.begin() || first == from_.end())
      return first == from_.begin() ? to_.front() : to_.back();
    const double low = *(first - 1);
    return at(below - 1 + (score / 2 - low / 2) / (*first / 2 - low / 2));
  }

 private:
  /// The value at a place between two positions.
  double at(double place) const {
    const auto low = std::min(static_cast<std::size_t>(place), to_.size() - 1);
    const auto high = std::min(low + 1, to_.size() - 1);
    return std::lerp(to_[low], to_[high], place - static_cast<double>(low));
  }

  std::vector<double> from_, to_;
};

}  // namespace

Result<void> hold_out(const TrainingRequest& request, const Learner& learner, const TrainingResult& result,
                      const std::vector<bool>& is_wanted, const std::function<void(const HeldOut&)>& use) {
  const TrainingSet& all = *request.train;
  const TrainAgain& train = result.again ? result.again : learner.train;
  TRY(const auto fold_of, folds_of_base_queries(all, is_wanted, kHeldOutFolds, request.seed));
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  return try_parallel_for(kHeldOutFolds, request.threads, [&](std::size_t fold) -> Result<void> {
    std::vector<std::size_t> inside;
    for (std::size_t q = 0; q < all.queries.size(); ++q)
      if (fold_of[q] == fold && is_wanted[q]) inside.push_back(q);
    const TrainingSet seen = select_queries(all, outside_fold(fold_of, fold));
    TrainingRequest again = request;
    again.train = &seen;
    again.threads = 1;
    again.progress = nullptr;
    again.trace.is_wanted = false;
    again.checkpoints = {};
    TRY(const auto trained, train(again));
    const Ranker& ranker = *trained.model.ranker;
    const QuantileMap on_scale(ranker.score(seen.matrix), result.model.ranker->score(seen.matrix));
    const TrainingSet unseen = select_queries(all, inside);
    use({fold, seen, unseen, ranker, on_scale});
    ++done;
    if (request.progress && std::this_thread::get_id() == caller) request.progress(done, kHeldOutFolds);
    return {};
  });
}

}  // namespace metafuse::fusion
