#include "experiments/calibrated/fold_run.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/parallel.h"
#include "fusion/learners/adaboost_mh/ranker.h"
#include "fusion/training/registry.h"

namespace metafuse::experiments::calibrated {

using namespace fusion;
using namespace fusion::adaboost_mh;

std::vector<std::vector<double>> tool_values(const FoldData& data, const std::vector<double>& scores,
                                             evaluation::Mode mode) {
  static const auto set = evaluation::parse_measures("ndcg_cut_1,2,3,4,5,6,7,8,9,10,mean_ndcg");
  evaluation::Rules rules;
  rules.mode = mode;
  std::vector<std::vector<double>> values;
  for (const RowRange& query : data.test.queries) {
    std::vector<std::size_t> documents(query.end - query.begin);
    std::iota(documents.begin(), documents.end(), query.begin);
    std::sort(documents.begin(), documents.end(),
              [&](std::size_t a, std::size_t b) { return data.test_lines[a] < data.test_lines[b]; });
    std::vector<double> part;
    std::vector<double> grades;
    for (const std::size_t d : documents) {
      part.push_back(scores[d]);
      grades.push_back(data.grades[static_cast<std::size_t>(data.test.classes[d])]);
    }
    values.push_back(evaluation::evaluate(
        *set, evaluation::judged_ranking(grades, evaluation::order_by_score(part), part), rules));
  }
  return values;
}

FoldRunner::FoldRunner(const FoldData& data, const Plan& plan, evaluation::Mode mode, std::uint64_t stream)
    : data_(data),
      plan_(plan),
      mode_(mode),
      coded_(data.training.matrix, ThresholdOptions{}),
      table_(cut_table(coded_)),
      gains_(gains_of(data.grades)),
      training_rows_(data.training.matrix, table_),
      validation_rows_(data.validation.matrix, table_),
      test_rows_(data.test.matrix, table_) {
  const Random random = Random(plan.seed).split(stream);
  for (const BaseSetting& setting : plan.settings) {
    splits_.push_back(draw_split(data.training, 0.2, random.split(splits_.size())));
    calibration_rows_.emplace_back(training_rows_, splits_.back().documents);
    Source source;
    source.name = setting.name();
    source.classifier.classes = data.grades.size();
    sources_.push_back(std::move(source));
  }
}

Judged FoldRunner::judged(const GradedDocuments& documents) const {
  return {documents.classes, gains_, documents.queries};
}

void FoldRunner::boost_to(std::size_t rounds) {
  parallel_for(sources_.size(), plan_.threads, [&](std::size_t i) {
    const std::size_t place = sources_.size() - 1 - i;
    StrongClassifier& classifier = sources_[place].classifier;
    const Problem problem{&coded_, data_.training.classes, data_.grades.size(), 1, splits_[place].left_out};
    BoostRun run =
        adaboost_mh::boost(problem, plan_.settings[place], rounds, {}, {&classifier, &training_rows_});
    classifier = std::move(run.classifier);
  });
}

void FoldRunner::vote(std::size_t rounds) {
  const std::vector<std::size_t> counts = {rounds};
  for (auto* votes : {&calibration_votes_, &validation_votes_, &test_votes_})
    votes->assign(sources_.size(), {});
  parallel_for(sources_.size(), plan_.threads, [&](std::size_t s) {
    const StrongClassifier& classifier = sources_[s].classifier;
    calibration_votes_[s] = classifier.votes(calibration_rows_[s], counts)[0];
    validation_votes_[s] = classifier.votes(validation_rows_, counts)[0];
    test_votes_[s] = classifier.votes(test_rows_, counts)[0];
  });
}

std::vector<Candidate> FoldRunner::run_to(std::size_t rounds) {
  boost_to(rounds);
  vote(rounds);
  std::vector<Candidate> candidates;
  add_plain(rounds, candidates);
  PoolData pool_data;
  pool_data.sources = &sources_;
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    pool_data.calibration.push_back({splits_[s].classes, gains_, splits_[s].queries});
    pool_data.calibration_votes.push_back(&calibration_votes_[s]);
    pool_data.validation_votes.push_back(&validation_votes_[s]);
  }
  pool_data.validation = judged(data_.validation);
  CalibrationOptions options;
  options.regression.process_points = plan_.process_points;
  options.regression.seed = plan_.seed;
  const Pool pool = fit_pool(pool_data, rounds, options, plan_.threads);
  fallbacks_ += pool.constant;
  add_ensembles(pool, PoolPart::sigmoids, "ensemble, CPC", candidates);
  add_ensembles(pool, PoolPart::regressions, "ensemble, RBC", candidates);
  add_ensembles(pool, PoolPart::all, "ensemble, CPC+RBC", candidates);
  keep_sigmoids(pool);
  return candidates;
}

void FoldRunner::add_plain(std::size_t rounds, std::vector<Candidate>& candidates) const {
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    const double quality = ndcg_10(posterior_scores(validation_votes_[s], gains_), judged(data_.validation));
    candidates.push_back(
        {plan_.settings[s].kind == BaseKind::tree ? "AdaBoost.MH, trees" : "AdaBoost.MH, products",
         sources_[s].name + ", T " + std::to_string(rounds), quality,
         tool_values(data_, posterior_scores(test_votes_[s], gains_), mode_)});
  }
}

void FoldRunner::add_ensembles(const Pool& pool, PoolPart part, const std::string& name,
                               std::vector<Candidate>& candidates) const {
  const std::vector<std::size_t> places = members_of(pool, part);
  std::vector<std::vector<double>> test;
  std::vector<const std::vector<double>*> test_scores;
  std::vector<const std::vector<double>*> validation_scores;
  std::vector<double> qualities;
  for (const std::size_t place : places) {
    const Member& member = pool.members[place];
    test.push_back(
        calibrated_scores(member.calibration, test_votes_[member.source], data_.grades.size(), gains_));
    validation_scores.push_back(&pool.validation[place]);
    qualities.push_back(member.quality);
  }
  for (const auto& scores : test) test_scores.push_back(&scores);
  for (int step = 0; step <= 20; ++step) {
    const auto weights = exponential_weights(qualities, 10.0 * step);
    candidates.push_back({name, "T " + std::to_string(pool.rounds) + ", c " + std::to_string(10 * step),
                          ndcg_10(weighted_scores(validation_scores, weights), judged(data_.validation)),
                          tool_values(data_, weighted_scores(test_scores, weights), mode_)});
  }
}

void FoldRunner::keep_sigmoids(const Pool& pool) {
  const auto distance = [&](std::size_t s) {
    const BaseSetting& setting = plan_.settings[s];
    return setting.kind == BaseKind::tree ? std::labs(static_cast<long>(setting.size) - 30) : 1000L;
  };
  std::size_t source = 0;
  for (std::size_t s = 1; s < sources_.size(); ++s)
    if (distance(s) < distance(source)) source = s;
  for (const Member& member : pool.members)
    for (std::size_t t = 0; t < std::size(kSigmoidTargets); ++t)
      if (member.source == source && member.calibration.name == name_of(kSigmoidTargets[t]))
        sigmoid_scores_[t] =
            calibrated_scores(member.calibration, test_votes_[source], data_.grades.size(), gains_);
}

Result<std::vector<Candidate>> rankboost_candidates(const FoldData& data, const Plan& plan,
                                                    evaluation::Mode mode) {
  std::vector<Candidate> candidates;
  const auto gains = gains_of(data.grades);
  for (const std::size_t rounds : plan.rankboost_rounds) {
    TrainingRequest request;
    request.train = &data.train;
    request.options = {{"rounds", std::to_string(rounds)}};
    request.threads = plan.threads;
    request.wants_trace = false;
    TRY(auto result, find_learner("rankboost")->train(request));
    const Ranker& ranker = *result.model.ranker;
    candidates.push_back({"RankBoost", "T " + std::to_string(rounds),
                          ndcg_10(ranker.score(data.validation_set.matrix),
                                  {data.validation.classes, gains, data.validation.queries}),
                          tool_values(data, ranker.score(data.test_set.matrix), mode)});
  }
  return candidates;
}

Candidate order_candidate(const FoldData& data, evaluation::Mode mode) {
  const std::vector<double> validation(data.validation.classes.size(), 0.0);
  const std::vector<double> test(data.test.classes.size(), 0.0);
  const auto gains = gains_of(data.grades);
  return {"the files' own order", "nothing",
          ndcg_10(validation, {data.validation.classes, gains, data.validation.queries}),
          tool_values(data, test, mode)};
}

}  // namespace metafuse::experiments::calibrated
