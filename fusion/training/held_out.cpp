#include "fusion/training/held_out.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "core/parallel.h"
#include "evaluation/significance/significance.h"

namespace metafuse::fusion {
namespace {

/// The fold of each query; all searches of a base query have the same one. Wanted base queries are spread
/// evenly over the folds.
Result<std::vector<std::size_t>> folds_of(const TrainingSet& set, const std::vector<bool>& is_wanted,
                                          std::uint64_t seed) {
  std::set<std::string_view> bases;
  for (std::size_t q = 0; q < is_wanted.size(); ++q)
    if (is_wanted[q]) bases.insert(base_query_of(set.queries[q].id));
  const std::vector<std::string_view> names(bases.begin(), bases.end());
  TRY(const auto folds, evaluation::random_folds(names, kHeldOutFolds, seed));
  std::map<std::string_view, std::size_t> fold_of;
  for (std::size_t i = 0; i < names.size(); ++i) fold_of[names[i]] = folds.fold_of[i];
  std::vector<std::size_t> out;
  for (const QueryRange& query : set.queries) {
    const auto at = fold_of.find(base_query_of(query.id));
    out.push_back(at == fold_of.end() ? kHeldOutFolds : at->second);  // always trained on
  }
  return out;
}

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

std::string_view base_query_of(std::string_view id) {
  id = id.substr(0, id.find('#'));
  for (const std::string_view origin : {kJudgedRow, kClickedRow})
    if (id.starts_with(origin)) id.remove_prefix(origin.size());
  return id;
}

Result<void> hold_out(const TrainingRequest& request, const Learner& learner, const TrainingResult& result,
                      const std::vector<bool>& is_wanted, const std::function<void(const HeldOut&)>& use) {
  const TrainingSet& all = *request.train;
  const TrainAgain& train = result.again ? result.again : learner.train;
  TRY(const auto fold_of, folds_of(all, is_wanted, request.seed));
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  return try_parallel_for(kHeldOutFolds, request.threads, [&](std::size_t fold) -> Result<void> {
    std::vector<std::size_t> inside, outside;
    for (std::size_t q = 0; q < all.queries.size(); ++q)
      if (fold_of[q] != fold)
        outside.push_back(q);
      else if (is_wanted[q])
        inside.push_back(q);
    const TrainingSet seen = select_queries(all, outside);
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
