#include "experiments/rankboost_plus/trial.h"

#include "core/contract.h"
#include "evaluation/measures/judged_ranking.h"
#include "evaluation/measures/measure.h"
#include "fusion/data/graded_order.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::TrainingSet;
using fusion::rankboost_plus::BoostOptions;
using fusion::rankboost_plus::BoostRound;
using fusion::rankboost_plus::BoostRun;
using fusion::rankboost_plus::Form;
using fusion::rankboost_plus::PairRows;
using fusion::rankboost_plus::RankLosses;
using fusion::rankboost_plus::StumpTable;

/// A set that is scored after every round.
class Follower {
 public:
  Follower(const TrainingSet& set, PairRows pairs, bool has_map)
      : set_(set), pairs_(std::move(pairs)), has_map_(has_map), scores_(set.matrix.document_count(), 0.0) {
    history_.push_back(measure());
  }

  void add(const fusion::WeakRanking& weak_ranking) {
    fusion::add_to_scores(set_.matrix, weak_ranking, scores_);
    history_.push_back(measure());
  }
  const std::vector<Metrics>& history() const { return history_; }
  void stay() { history_.push_back(history_.back()); }

 private:
  Metrics measure() const {
    const RankLosses losses = fusion::rankboost_plus::rank_losses(pairs_, scores_);
    Metrics metrics{};
    metrics[kR1] = losses.r1;
    metrics[kR2] = losses.r2;
    const auto rows = fusion::ndcg_by_query(set_, scores_, 7);
    for (const std::vector<double>& row : rows) {
      const double share = 1.0 / static_cast<double>(rows.size());
      metrics[kNdcg3] += row[2] * share;
      metrics[kNdcg5] += row[4] * share;
      metrics[kNdcg7] += row[6] * share;
    }
    if (has_map_) metrics[kMap] = mean_average_precision();
    return metrics;
  }

  double mean_average_precision() const {
    static const auto measures = evaluation::parse_measures("map");
    require(measures.has_value(), "there is average precision");
    double sum = 0.0;
    for (const fusion::QueryRange& query : set_.queries) {
      const std::size_t count = query.end - query.begin;
      const std::span<const double> scores(scores_.data() + query.begin, count);
      const std::span<const double> grades(set_.grades.data() + query.begin, count);
      const auto ranking = evaluation::judged_ranking(grades, evaluation::order_by_score(scores), scores);
      sum += evaluation::evaluate(*measures, ranking, evaluation::Rules{}).front();
    }
    return sum / static_cast<double>(set_.queries.size());
  }

  const TrainingSet& set_;
  PairRows pairs_;
  bool has_map_;
  std::vector<double> scores_;
  std::vector<Metrics> history_;
};

/// The round whose value of a metric is best, the earliest of equals. Entry 0, before any round, is one of
/// them.
std::size_t best_round(const std::vector<Metrics>& history, std::size_t metric) {
  std::size_t best = 0;
  for (std::size_t t = 1; t < history.size(); ++t) {
    const double change = history[t][metric] - history[best][metric];
    if (is_cost(metric) ? change < 0.0 : change > 0.0) best = t;
  }
  return best;
}

BoostOptions boost_options(Form form, const StumpTable& stumps, const TrialOptions& options) {
  BoostOptions out;
  out.form = form;
  out.rounds = options.rounds;
  out.has_all_losses = options.has_all_losses;
  out.seed = options.seed;
  out.is_pruning = stumps.stumps().size() <= fusion::rankboost_plus::kMostToPrune;
  return out;
}

}  // namespace

Result<Trial> run_trial(const Split& split, Form form, const TrialOptions& options) {
  constexpr auto kAnyCount = static_cast<std::size_t>(-1);
  TRY(const auto train, fusion::rankboost_plus::pair_rows(split.train, kAnyCount));
  TRY(auto validate_pairs, fusion::rankboost_plus::pair_rows(split.validate, kAnyCount));
  TRY(auto test_pairs, fusion::rankboost_plus::pair_rows(split.test, kAnyCount));
  const fusion::CodedFeatures coded(split.train.matrix,
                                    fusion::ThresholdOptions{fusion::ThresholdOptions::kAll});
  const StumpTable stumps(coded, 255, Random(options.seed));
  Follower validate(split.validate, std::move(validate_pairs), options.has_map);
  Follower test(split.test, std::move(test_pairs), options.has_map);
  Trial trial;
  trial.e1 = trial.e2 = {1.0};
  const BoostRun run = fusion::rankboost_plus::boost_stumps(
      stumps, train, boost_options(form, stumps, options), [&](const BoostRound& round) {
        const auto& stump = stumps.stumps()[round.stump];
        const double threshold = coded.thresholds(stump.feature).values[stump.place];
        const fusion::WeakRanking weak_ranking{stump.feature, threshold, 0.0, round.alpha};
        validate.add(weak_ranking);
        test.add(weak_ranking);
        trial.e1.push_back(round.losses.e1);
        trial.e2.push_back(round.e2);
        return true;
      });
  trial.rounds = run.rounds.size();
  trial.is_halted = run.stop_reason.find("undefined") != std::string::npos;
  for (std::size_t t = run.rounds.size(); t < options.rounds; ++t) {
    test.stay();
    trial.e1.push_back(trial.e1.back());
    trial.e2.push_back(trial.e2.back());
  }
  trial.test = test.history();
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    const std::size_t by = options.has_map && !is_cost(metric) ? static_cast<std::size_t>(kMap) : metric;
    trial.chosen[metric] = trial.test[best_round(validate.history(), by)][metric];
  }
  return trial;
}

}  // namespace metafuse::experiments::rankboost_plus
