// Trains and chooses for the calibrated experiment: boosts and calibrates each setting on every fold, and
// chooses on the validation parts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "core/parallel.h"
#include "evaluation/significance/significance.h"
#include "lab/experiments/calibrated.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/trials.h"
#include "lab/learners/adaboost_mh/ensemble.h"

namespace metafuse::lab::experiments::calibrated {

using namespace adaboost_mh;

namespace {

/// Splits off a fifth of the documents, all documents of a fifth of the queries, or everything.
CalibrationSplit split_of(const GradedDocuments& documents, SplitKind kind, Random random) {
  if (kind == SplitKind::own_documents || kind == SplitKind::shared_documents)
    return draw_split(documents, 0.2, random);
  std::vector<std::size_t> order = shuffled(documents.queries.size(), random);
  if (kind == SplitKind::own_queries) order.resize(std::max<std::size_t>(1, order.size() / 5));
  std::sort(order.begin(), order.end());
  CalibrationSplit split;
  split.left_out.assign(documents.classes.size(), 0);
  for (const std::size_t query : order) {
    const RowRange& range = documents.queries[query];
    const std::size_t begin = split.documents.size();
    for (std::size_t d = range.begin; d < range.end; ++d) {
      split.left_out[d] = 1;
      split.documents.push_back(static_cast<std::uint32_t>(d));
      split.classes.push_back(documents.classes[d]);
    }
    split.queries.push_back({begin, split.documents.size()});
  }
  return split;
}

Judged validation_of(const FoldData& data) {
  return {data.validation.documents.classes, data.gains, data.validation.documents.queries};
}

double quality_of(const FoldData& data, const Plan& plan, const std::vector<double>& validation) {
  return plan.measures_by_tool ? tool_ndcg_10(data, validation) : ndcg_10(validation, validation_of(data));
}

/// A candidate with these scores of the validation and of the test documents.
Candidate candidate_of(const FoldData& data, const Plan& plan, std::string method, std::string choice,
                       const std::vector<double>& validation, const std::vector<double>& test) {
  return {std::move(method), std::move(choice), quality_of(data, plan, validation),
          tool_values(data, test, plan.are_ties_by_id)};
}

bool is_sigmoid(const Member& member) {
  return std::any_of(std::begin(kSigmoidTargets), std::end(kSigmoidTargets),
                     [&](SigmoidTarget target) { return name_of(target) == member.calibration.name; });
}

/// What one setting has learned so far.
struct Learned {
  CalibrationSplit split;
  CodedRows calibration_rows;
  std::vector<double> calibration_votes{}, validation_votes{}, test_votes{};
};

/// Boosts and calibrates on one fold, for increasing numbers of rounds. Each setting draws its own fifth of
/// the training documents to calibrate on.
class FoldRunner {
 public:
  /// in: stream - selects the random draws; differs from fold to fold
  FoldRunner(const FoldData& data, const Plan& plan, std::uint64_t stream)
      : data_(data),
        plan_(plan),
        coded_(data.training.documents.matrix, fusion::ThresholdOptions{plan.max_thresholds}),
        rows_(data, cut_table(coded_)) {
    const Random random = Random(plan.seed).split(stream);
    for (const BaseSetting& setting : plan.settings) {
      const std::size_t number = plan.split == SplitKind::shared_documents ? 0 : learned_.size();
      CalibrationSplit split = split_of(data.training.documents, plan.split, random.split(number));
      const CodedRows rows(rows_.training, split.documents);
      learned_.push_back({std::move(split), rows});
      Source source;
      source.name = setting.name();
      source.classifier.classes = data.grades.size();
      sources_.push_back(std::move(source));
    }
  }

  /// Continues boosting up to this number of rounds.
  /// cost:   settings x rounds, and settings x calibrations
  std::vector<Candidate> run_to(std::size_t rounds) {
    rounds_ = rounds;
    boost();
    vote();
    std::vector<Candidate> candidates;
    add_plain(candidates);
    const Pool pool = calibrate();
    add_ensembles(pool, candidates);
    keep_sigmoids(pool);
    return candidates;
  }

  /// The CPC scores of the test documents after the last rounds, with trees of about 30 leaves (sec. 7.2).
  const std::array<std::vector<double>, kTargets>& sigmoid_scores() const { return sigmoid_scores_; }

 private:
  /// The parts as codes of the training part's cuts.
  struct Rows {
    Rows(const FoldData& data, const CutTable& table)
        : training(data.training.documents.matrix, table),
          validation(data.validation.documents.matrix, table),
          test(data.test.documents.matrix, table) {}

    CodedRows training, validation, test;
  };

  /// Scales scores to [0, 1] within each query if the plan says so.
  std::vector<double> scaled(std::vector<double> scores, const GradedDocuments& documents) const {
    if (!plan_.scales_by_query) return scores;
    for (const RowRange& query : documents.queries) {
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(query.begin);
      const auto end = scores.begin() + static_cast<std::ptrdiff_t>(query.end);
      const auto [low, high] = std::minmax_element(begin, end);
      const double least = *low;
      const double span = *high - least;
      for (auto at = begin; at != end; ++at) *at = span > 0.0 ? (*at - least) / span : 0.0;
    }
    return scores;
  }

  /// The weight of each document in place of 2^label; empty to keep that.
  std::vector<double> importance(std::size_t setting) const {
    const auto& classes = data_.training.documents.classes;
    if (plan_.start == StartKind::by_label) return {};
    std::vector<double> weights(classes.size(), 1.0);
    if (plan_.start == StartKind::equal) return weights;
    // Resampling: as many draws as there are documents, each with probability proportional to 2^label.
    std::vector<double> ends;
    double sum = 0.0;
    for (std::size_t d = 0; d < classes.size(); ++d)
      ends.push_back(sum += learned_[setting].split.left_out[d] != 0 ? 0.0 : std::ldexp(1.0, classes[d]));
    std::fill(weights.begin(), weights.end(), 0.0);
    Random random = Random(plan_.seed).split(7'000 + setting);
    for (std::size_t draw = 0; draw < classes.size(); ++draw) {
      const auto at = std::upper_bound(ends.begin(), ends.end(), random.uniform() * sum) - ends.begin();
      weights[std::min(static_cast<std::size_t>(at), classes.size() - 1)] += 1.0;
    }
    return weights;
  }

  /// Boosts every setting. The slowest settings are last in the list, so they are started first.
  void boost() {
    parallel_for(sources_.size(), plan_.threads, [&](std::size_t i) {
      const std::size_t place = sources_.size() - 1 - i;
      StrongClassifier& classifier = sources_[place].classifier;
      const std::vector<double> weights = importance(place);
      const std::span<const std::uint8_t> left_out = plan_.split == SplitKind::own_training
                                                         ? std::span<const std::uint8_t>()
                                                         : learned_[place].split.left_out;
      const Problem problem{&coded_, data_.training.documents.classes, data_.grades.size(), 1, left_out,
                            weights};
      BoostRun run = lab::adaboost_mh::boost(problem, plan_.settings[place], rounds_, {},
                                             {&classifier, &rows_.training});
      classifier = std::move(run.classifier);
    });
  }

  void vote() {
    const std::vector<std::size_t> counts = {rounds_};
    parallel_for(sources_.size(), plan_.threads, [&](std::size_t s) {
      const StrongClassifier& classifier = sources_[s].classifier;
      Learned& learned = learned_[s];
      learned.calibration_votes = classifier.votes(learned.calibration_rows, counts)[0];
      learned.validation_votes = classifier.votes(rows_.validation, counts)[0];
      learned.test_votes = classifier.votes(rows_.test, counts)[0];
    });
  }

  void add_plain(std::vector<Candidate>& candidates) const {
    for (std::size_t s = 0; s < sources_.size(); ++s)
      candidates.push_back(candidate_of(
          data_, plan_,
          plan_.settings[s].kind == BaseKind::tree ? "AdaBoost.MH, trees" : "AdaBoost.MH, products",
          fmt::format("{}, T {}", sources_[s].name, rounds_),
          posterior_scores(learned_[s].validation_votes, data_.gains),
          posterior_scores(learned_[s].test_votes, data_.gains)));
  }

  Pool calibrate() const {
    std::vector<SourceVotes> votes;
    for (std::size_t s = 0; s < sources_.size(); ++s)
      votes.push_back({sources_[s].width(),
                       {learned_[s].split.classes, data_.gains, learned_[s].split.queries},
                       &learned_[s].calibration_votes,
                       &learned_[s].validation_votes});
    CalibrationOptions options;
    options.regression.process_points = plan_.process_points;
    options.regression.seed = plan_.seed;
    return fit_pool(votes, validation_of(data_), options, plan_.threads);
  }

  std::vector<double> test_scores(const Member& member) const {
    return calibrated_scores(member.calibration, learned_[member.source].test_votes, data_.grades.size(),
                             data_.gains);
  }

  /// Adds the ensembles of the members by each kind of calibration and of all members.
  void add_ensembles(const Pool& pool, std::vector<Candidate>& candidates) const {
    std::vector<std::vector<double>> test, validation;
    std::vector<double> qualities;
    for (std::size_t m = 0; m < pool.members.size(); ++m) {
      test.push_back(scaled(test_scores(pool.members[m]), data_.test.documents));
      validation.push_back(scaled(pool.validation[m], data_.validation.documents));
      qualities.push_back(plan_.measures_by_tool ? tool_ndcg_10(data_, pool.validation[m])
                                                 : pool.members[m].quality);
    }
    for (const char* const name : {"ensemble, CPC", "ensemble, RBC", "ensemble, CPC+RBC"}) {
      std::vector<const std::vector<double>*> test_parts, validation_parts;
      std::vector<double> of_members;
      for (std::size_t m = 0; m < pool.members.size(); ++m) {
        const std::string_view kind = is_sigmoid(pool.members[m]) ? "CPC" : "RBC";
        if (std::string_view(name).find(kind) == std::string_view::npos) continue;
        test_parts.push_back(&test[m]);
        validation_parts.push_back(&validation[m]);
        of_members.push_back(qualities[m]);
      }
      for (const double c : plan_.bases) {
        const auto weights = exponential_weights(of_members, c);
        candidates.push_back(candidate_of(data_, plan_, name, fmt::format("T {}, c {}", rounds_, c),
                                          weighted_scores(validation_parts, weights),
                                          weighted_scores(test_parts, weights)));
      }
    }
  }

  void keep_sigmoids(const Pool& pool) {
    const auto distance = [&](std::size_t s) {
      const BaseSetting& setting = plan_.settings[s];
      return setting.kind == BaseKind::tree ? std::labs(static_cast<long>(setting.size) - 30) : 1000L;
    };
    std::size_t source = 0;
    for (std::size_t s = 1; s < sources_.size(); ++s)
      if (distance(s) < distance(source)) source = s;
    for (const Member& member : pool.members)
      for (std::size_t t = 0; t < kTargets; ++t)
        if (member.source == source && member.calibration.name == name_of(kSigmoidTargets[t]))
          sigmoid_scores_[t] = test_scores(member);
  }

  const FoldData& data_;
  const Plan& plan_;
  fusion::CodedFeatures coded_;
  Rows rows_;
  std::vector<Source> sources_;   // one per setting
  std::vector<Learned> learned_;  // one per setting
  std::array<std::vector<double>, kTargets> sigmoid_scores_;
  std::size_t rounds_ = 0;  // of boosting so far
};

/// RankBoost on the whole training part, like the published one, with a candidate per number of rounds;
/// then the same with equal query weights, whatever the number of a query's pairs; then what `auto`
/// chooses on the validation part. Empty if the plan has no numbers of rounds for RankBoost.
Result<std::vector<Candidate>> rankboost_candidates(const FoldData& data, const Plan& plan) {
  std::vector<Candidate> candidates;
  if (plan.rankboost_rounds.empty()) return candidates;
  fusion::TrainingRequest request;
  request.threads = plan.threads;
  const auto add = [&](const std::string& method, const std::string& choice, const fusion::Model& model) {
    candidates.push_back(candidate_of(data, plan, method, choice,
                                      model.ranker->score(data.validation.set.matrix),
                                      model.ranker->score(data.test.set.matrix)));
  };
  fusion::TrainingSet set = data.training.set;
  for (const std::string method : {"RankBoost", kEqualRankBoost}) {
    if (method == kEqualRankBoost) set.feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;
    for (const std::size_t rounds : plan.rankboost_rounds) {
      TRY(const auto model, train({"rankboost", "", {{"rounds", std::to_string(rounds)}}}, set, request));
      add(method, fmt::format("T {}", rounds), model);
    }
  }
  request.validate = &data.validation.set;
  request.measure.name = "ndcg_burges_10";
  TRY(const auto chosen, train({"auto"}, data.training.set, request));
  add(kAutoRow, "by ndcg_burges_10", chosen);
  return candidates;
}

/// Chooses T, c and setting of each method by the mean over the validation parts: for all folds together,
/// or for each fold alone.
class Choice {
 public:
  Choice(std::size_t folds, bool is_by_fold) {
    for (std::size_t fold = 0; fold < folds; ++fold) {
      if (is_by_fold || groups_.empty()) groups_.emplace_back();
      groups_.back().push_back(fold);
    }
  }

  /// Adds candidates; tells whether some method got better on validation.
  /// in: folds - per fold, the same methods with the same choices
  bool add(const std::vector<std::vector<Candidate>>& folds) {
    bool is_better = false;
    for (std::size_t i = 0; i < folds[0].size(); ++i) {
      std::vector<Best>& of_method = best_[folds[0][i].method];
      of_method.resize(groups_.size());
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        Best& best = of_method[g];
        double validation = 0.0;
        for (const std::size_t fold : groups_[g])
          validation += folds[fold][i].validation / static_cast<double>(groups_[g].size());
        if (validation <= best.validation + 1e-12) continue;
        is_better = true;
        best = {validation, {}};
        for (const std::size_t fold : groups_[g]) best.candidates.push_back(folds[fold][i]);
      }
    }
    return is_better;
  }

  /// in: column - the column of the paper's measure
  std::map<std::string, MethodResult> results(std::size_t column) const {
    std::map<std::string, MethodResult> results;
    for (const auto& [name, of_method] : best_) {
      MethodResult result{of_method[0].candidates[0].choice, 0.0, {}, std::vector<double>(kDepth, 0.0)};
      const auto groups = static_cast<double>(groups_.size());
      for (const Best& best : of_method) {
        result.validation += best.validation / groups;
        const double folds = groups * static_cast<double>(best.candidates.size());
        for (const Candidate& fold : best.candidates) {
          const auto queries = static_cast<double>(fold.values.size());
          double sum = 0.0;
          for (const auto& query : fold.values) {
            sum += query[column] / queries;
            for (std::size_t k = 0; k < kDepth; ++k) result.ndcg[k] += query[k] / queries / folds;
          }
          result.fold_means.push_back(sum);
        }
      }
      results[name] = std::move(result);
    }
    return results;
  }

 private:
  struct Best {
    double validation = -1.0;
    std::vector<Candidate> candidates;  ///< one per fold of the group
  };
  std::vector<std::vector<std::size_t>> groups_;   // of folds
  std::map<std::string, std::vector<Best>> best_;  // by method, one per group
};

}  // namespace

Candidate order_candidate(const FoldData& data) {
  const std::vector<double> validation(data.validation.documents.classes.size(), 0.0);
  const std::vector<double> test(data.test.documents.classes.size(), 0.0);
  return candidate_of(data, {}, kFileOrder, "nothing", validation, test);
}

Result<SetResult> run_set(const DataSet& set, const std::vector<FoldData>& folds, const Plan& plan,
                          const std::function<void()>& step_done) {
  std::vector<std::vector<Candidate>> rankboost, orders;
  for (const FoldData& fold : folds) {
    TRY(auto candidates, rankboost_candidates(fold, plan));
    rankboost.push_back(std::move(candidates));
    orders.push_back({order_candidate(fold)});
  }
  Choice choice(folds.size(), plan.chooses_by_fold);
  choice.add(rankboost);
  choice.add(orders);
  std::deque<FoldRunner> runners;
  for (const FoldData& fold : folds) runners.emplace_back(fold, plan, runners.size());
  std::size_t without_gain = 0;
  for (const std::size_t rounds : plan.round_counts) {
    std::vector<std::vector<Candidate>> candidates;
    if (without_gain < 2 || !plan.stops_early) {
      for (FoldRunner& runner : runners) candidates.push_back(runner.run_to(rounds));
      without_gain = choice.add(candidates) ? 0 : without_gain + 1;
    }
    step_done();
  }
  SetResult result{choice.results(set.measure == "mean_ndcg" ? kDepth : kDepth - 1),
                   {kTargets, std::vector<std::vector<double>>(kTargets)}};
  for (const FoldRunner& runner : runners) {
    const auto& scores = runner.sigmoid_scores();
    for (std::size_t a = 0; a < kTargets; ++a)
      for (std::size_t b = a + 1; b < kTargets; ++b)
        result.p[a][b].push_back(evaluation::paired_t_test(scores[a], scores[b]).value_or(1.0));
  }
  return result;
}

}  // namespace metafuse::lab::experiments::calibrated
