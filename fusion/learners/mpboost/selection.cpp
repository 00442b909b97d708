#include "fusion/learners/mpboost/selection.h"

#include "fusion/data/fused_order.h"

namespace metafuse::fusion::mpboost {

Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters) {
  constexpr std::size_t kDepth = 5;
  Selection best;
  best.validation_ndcg = -1.0;
  for (const double parameter : parameters) {
    BoostOptions trial = options;
    trial.parameter = parameter;
    std::vector<double> scores(validate.matrix.document_count(), 0.0);
    double highest = -1.0;
    std::size_t rounds = 0;
    std::size_t at = 0;
    auto run = boost_stumps(train, trial, [&](const BoostRound& round) {
      add_to_scores(validate.matrix, round.weak_ranking, scores);
      ++at;
      const double ndcg = mean_ndcg(validate, scores, kDepth);
      if (ndcg > highest) {
        highest = ndcg;
        rounds = at;
      }
      return true;
    });
    if (!run) return run.error();
    if (highest <= best.validation_ndcg) continue;
    run->rounds.resize(rounds);
    best = {std::move(*run), parameter, highest};
  }
  return best;
}

}  // namespace metafuse::fusion::mpboost
