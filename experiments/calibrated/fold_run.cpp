#include "experiments/calibrated/fold_run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/parallel.h"
#include "fusion/adaboost_mh/ranker.h"
#include "fusion/registry.h"

namespace metafuse::experiments::calibrated {
namespace {

using namespace fusion;
using namespace fusion::adaboost_mh;

/// What is shared by all numbers of rounds of a fold.
class FoldRunner {
 public:
  FoldRunner(const FoldData& data, const Plan& plan)
      : data_(data),
        plan_(plan),
        coded_(data.training.matrix, ThresholdOptions{}),
        table_(cut_table(coded_)),
        gains_(gains_of(data.grades)),
        training_rows_(data.training.matrix, table_),
        calibration_rows_(data.calibration.matrix, table_),
        validation_rows_(data.validation.matrix, table_),
        test_rows_(data.test.matrix, table_) {
    for (const BaseSetting& setting : plan.settings) {
      Source source;
      source.name = setting.name();
      source.classifier.classes = data.grades.size();
      sources_.push_back(std::move(source));
    }
  }

  FoldRun run() {
    std::size_t without_gain = 0;
    for (const std::size_t rounds : plan_.round_counts) {
      boost_to(rounds);
      out_.largest_rounds = rounds;
      without_gain = measure(rounds) ? 0 : without_gain + 1;
      if (plan_.stops_early && without_gain == 2) break;
    }
    return std::move(out_);
  }

 private:
  Judged judged(const GradedDocuments& documents) const {
    return {documents.classes, gains_, documents.queries};
  }

  void boost_to(std::size_t rounds) {
    const Problem problem{&coded_, data_.training.classes, data_.grades.size()};
    parallel_for(sources_.size(), plan_.threads, [&](std::size_t i) {
      const std::size_t place = sources_.size() - 1 - i;
      StrongClassifier& classifier = sources_[place].classifier;
      BoostRun run = boost(problem, plan_.settings[place], rounds, {}, {&classifier, &training_rows_});
      classifier = std::move(run.classifier);
    });
  }

  bool offer(const std::string& name, double quality, const std::string& choice, std::vector<double> scores) {
    MethodRun& method = out_.methods[name];
    if (quality <= method.validation + 1e-12) return false;
    method = {choice, quality, std::move(scores)};
    return true;
  }

  /// Fits and chooses at one number of rounds; whether anything got better on validation.
  bool measure(std::size_t rounds) {
    const std::vector<std::size_t> counts = {rounds};
    calibration_votes_.assign(sources_.size(), {});
    validation_votes_.assign(sources_.size(), {});
    test_votes_.assign(sources_.size(), {});
    parallel_for(sources_.size(), plan_.threads, [&](std::size_t s) {
      calibration_votes_[s] = sources_[s].classifier.votes(calibration_rows_, counts)[0];
      validation_votes_[s] = sources_[s].classifier.votes(validation_rows_, counts)[0];
      test_votes_[s] = sources_[s].classifier.votes(test_rows_, counts)[0];
    });
    bool is_better = measure_plain(rounds);
    PoolData pool_data;
    pool_data.sources = &sources_;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      pool_data.calibration_votes.push_back(&calibration_votes_[s]);
      pool_data.validation_votes.push_back(&validation_votes_[s]);
    }
    pool_data.calibration = judged(data_.calibration);
    pool_data.validation = judged(data_.validation);
    CalibrationOptions options;
    options.regression.process_points = plan_.process_points;
    options.regression.seed = plan_.seed;
    const Pool pool = fit_pool(pool_data, rounds, options, plan_.threads);
    out_.fallbacks += pool.constant;
    for (const auto& [name, part] :
         {std::pair{"ensemble, CPC", PoolPart::sigmoids}, std::pair{"ensemble, RBC", PoolPart::regressions},
          std::pair{"ensemble, CPC+RBC", PoolPart::all}})
      is_better |= measure_ensemble(name, part, pool);
    return is_better;
  }

  bool measure_ensemble(const std::string& name, PoolPart part, const Pool& pool) {
    const Ensemble chosen = choose_ensemble(pool, part, judged(data_.validation));
    const bool is_better =
        offer(name, chosen.quality,
              "T " + std::to_string(pool.rounds) + ", c " + std::to_string(static_cast<int>(chosen.c)), {});
    if (!is_better) return false;
    std::vector<double> scores(data_.test.classes.size(), 0.0);
    for (std::size_t i = 0; i < chosen.members.size(); ++i) {
      const Member& member = pool.members[chosen.members[i]];
      const auto parts =
          calibrated_scores(member.calibration, test_votes_[member.source], data_.grades.size(), gains_);
      for (std::size_t d = 0; d < scores.size(); ++d) scores[d] += chosen.weights[i] * parts[d];
    }
    out_.methods[name].scores = std::move(scores);
    if (part == PoolPart::sigmoids) keep_sigmoids(pool);
    return true;
  }

  /// The scores whose diversity sec. 7.2 looks at.
  void keep_sigmoids(const Pool& pool) {
    std::size_t source = 0;
    for (std::size_t s = 0; s < plan_.settings.size(); ++s)
      if (plan_.settings[s].kind == BaseKind::tree && distance_to_30(s) < distance_to_30(source)) source = s;
    for (const Member& member : pool.members)
      for (std::size_t t = 0; t < std::size(kSigmoidTargets); ++t)
        if (member.source == source && member.calibration.name == name_of(kSigmoidTargets[t]))
          out_.sigmoid_scores[t] =
              calibrated_scores(member.calibration, test_votes_[source], data_.grades.size(), gains_);
  }
  long distance_to_30(std::size_t setting) const {
    if (plan_.settings[setting].kind != BaseKind::tree) return 1000;
    return std::labs(static_cast<long>(plan_.settings[setting].size) - 30);
  }

  bool measure_plain(std::size_t rounds) {
    bool is_better = false;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const double quality =
          ndcg_10(posterior_scores(validation_votes_[s], gains_), judged(data_.validation));
      const std::string name =
          plan_.settings[s].kind == BaseKind::tree ? "AdaBoost.MH, trees" : "AdaBoost.MH, products";
      is_better |= offer(name, quality, sources_[s].name + ", T " + std::to_string(rounds),
                         posterior_scores(test_votes_[s], gains_));
    }
    return is_better;
  }

  const FoldData& data_;
  const Plan& plan_;
  CodedFeatures coded_;
  CutTable table_;
  std::vector<double> gains_;
  CodedRows training_rows_;
  CodedRows calibration_rows_;
  CodedRows validation_rows_;
  CodedRows test_rows_;
  std::vector<Source> sources_;
  std::vector<std::vector<double>> calibration_votes_;
  std::vector<std::vector<double>> validation_votes_;
  std::vector<std::vector<double>> test_votes_;
  FoldRun out_;
};

/// RankBoost on the same 80 %, its rounds chosen on the same validation part.
Result<MethodRun> run_rankboost(const FoldData& data, const Plan& plan) {
  MethodRun best;
  const auto gains = gains_of(data.grades);
  for (const std::size_t rounds : plan.rankboost_rounds) {
    TrainingRequest request;
    request.train = &data.train;
    request.options = {{"rounds", std::to_string(rounds)}};
    request.threads = plan.threads;
    request.wants_trace = false;
    auto result = find_learner("rankboost")->train(request);
    if (!result) return result.error();
    const double quality = ndcg_10(result->model.ranker->score(data.validation_set.matrix),
                                   {data.validation.classes, gains, data.validation.queries});
    if (quality <= best.validation + 1e-12) continue;
    best = {"T " + std::to_string(rounds), quality, result->model.ranker->score(data.test_set.matrix)};
  }
  return best;
}

}  // namespace

Result<FoldRun> run_fold(const FoldData& data, const Plan& plan) {
  auto rankboost = run_rankboost(data, plan);
  if (!rankboost) return rankboost.error();
  FoldRun run = FoldRunner(data, plan).run();
  run.methods["RankBoost"] = std::move(*rankboost);
  return run;
}

}  // namespace metafuse::experiments::calibrated
