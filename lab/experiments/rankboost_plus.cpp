// Rb-d, Rb-c and RankBoost+ (Connamacher et al. 2020): average ranks on users of MovieLens and queries of
// MSLR (tables 1 and 3, fig. 3), on MQ2008's folds (tables 2 and 4), convergence (fig. 2), halting of Rb-d
// (fig. 4), speed of both forms of RankBoost+ (fig. 1). Each algorithm is trained on every task and fold and
// measured after every round. Quick: 10 users, 4 queries, 1 fold, 40 rounds. Normal: 100 rounds. Full: 200.
#include "lab/experiments/rankboost_plus.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/contract.h"
#include "evaluation/measures/measure.h"
#include "fusion/data/fused_order.h"
#include "lab/experiments/average_ranks.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"
#include "lab/learners/rankboost_plus/boost.h"

namespace metafuse::lab::experiments {
namespace rankboost_plus {
namespace {

using fusion::TrainingSet;
using lab::rankboost_plus::BoostOptions;
using lab::rankboost_plus::BoostRound;
using lab::rankboost_plus::Form;
using lab::rankboost_plus::StumpTable;

constexpr auto kAnyCount = static_cast<std::size_t>(-1);

enum Metric { kR1, kR2, kNdcg3, kNdcg5, kNdcg7, kMap, kMetrics };
constexpr std::array<const char*, kMetrics> kMetricNames = {"R1", "R2", "NDCG@3", "NDCG@5", "NDCG@7", "MAP"};
bool is_cost(std::size_t metric) {
  return metric <= kR2;
}
using Metrics = std::array<double, kMetrics>;

/// The three algorithms that the paper compares.
constexpr std::array kForms = {Form::discrete, Form::continuous, Form::plus_efficient};
const std::array<std::string, kForms.size()> kNames = {"Rb-d", "Rb-c", "RankBoost+"};
using Figures = std::array<double, kForms.size()>;              // one number per algorithm
using Curves = std::array<std::vector<double>, kForms.size()>;  // one curve per algorithm

/// The extent of a comparison.
struct Plan {
  std::size_t rounds = 100;
  bool has_map = false;         ///< measure MAP, and choose the round for NDCG by it
  bool has_all_losses = false;  ///< also record E2 for Rb-d and Rb-c
};

/// One training, measured after every round; entry 0 is before the first. A run that ended early keeps its
/// last values.
struct Trial {
  Metrics chosen{};  ///< on test: each metric after the round that was best for it on validation
  std::vector<Metrics> test;
  std::vector<double> e1, e2;  ///< on train
  bool is_halted = false;      ///< Rb-d stopped because its weight was undefined
  std::size_t rounds = 0;
};

/// A set that is scored and measured after every round.
class Follower {
 public:
  Follower(const TrainingSet& set, lab::rankboost_plus::PairRows pairs, bool has_map)
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
    const auto losses = lab::rankboost_plus::rank_losses(pairs_, scores_);
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
  lab::rankboost_plus::PairRows pairs_;
  bool has_map_;
  std::vector<double> scores_;
  std::vector<Metrics> history_;
};

/// The round with the best value of a metric, the earliest if there are several; 0 means before the
/// first round.
std::size_t best_round(const std::vector<Metrics>& history, std::size_t metric) {
  std::size_t best = 0;
  for (std::size_t t = 1; t < history.size(); ++t) {
    const double change = history[t][metric] - history[best][metric];
    if (is_cost(metric) ? change < 0.0 : change > 0.0) best = t;
  }
  return best;
}

/// Fills in what is chosen by validation.
void choose(const std::vector<Metrics>& validation, bool has_map, Trial& trial) {
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    const std::size_t by = has_map && !is_cost(metric) ? static_cast<std::size_t>(kMap) : metric;
    trial.chosen[metric] = trial.test[best_round(validation, by)][metric];
  }
}

/// errors: bad_data when a part has no crucial pair
Result<Trial> run_trial(const Split& split, Form form, const Plan& plan, std::uint64_t seed) {
  TRY(const auto train, lab::rankboost_plus::pair_rows(split.train, kAnyCount));
  TRY(auto validate_pairs, lab::rankboost_plus::pair_rows(split.validate, kAnyCount));
  TRY(auto test_pairs, lab::rankboost_plus::pair_rows(split.test, kAnyCount));
  const fusion::CodedFeatures coded(split.train.matrix,
                                    fusion::ThresholdOptions{fusion::ThresholdOptions::kAll});
  const StumpTable stumps(coded, 255, Random(seed));
  BoostOptions boosting;
  boosting.form = form;
  boosting.rounds = plan.rounds;
  boosting.has_all_losses = plan.has_all_losses;
  boosting.seed = seed;
  boosting.is_pruning = stumps.stumps().size() <= lab::rankboost_plus::kMostToPrune;
  Follower validate(split.validate, std::move(validate_pairs), plan.has_map);
  Follower test(split.test, std::move(test_pairs), plan.has_map);
  Trial trial;
  trial.e1 = trial.e2 = {1.0};
  const auto run = lab::rankboost_plus::boost_stumps(stumps, train, boosting, [&](const BoostRound& round) {
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
  for (std::size_t t = run.rounds.size(); t < plan.rounds; ++t) {
    test.stay();
    trial.e1.push_back(trial.e1.back());
    trial.e2.push_back(trial.e2.back());
  }
  trial.test = test.history();
  choose(validate.history(), plan.has_map, trial);
  return trial;
}

/// The trainings of one task, by algorithm and fold.
using TaskTrials = std::array<std::vector<Trial>, kForms.size()>;

/// The results of the three algorithms on one domain.
struct Outcome {
  std::string name;
  std::size_t left_out = 0;
  std::size_t metrics = kMap;  ///< how many metrics are measured
  std::vector<TaskTrials> trials;

  /// Means over the folds: tasks x algorithms.
  std::vector<std::vector<double>> values(std::size_t metric) const {
    std::vector<std::vector<double>> rows;
    for (const TaskTrials& task : trials) {
      rows.emplace_back();
      for (const std::vector<Trial>& folds : task) {
        double sum = 0.0;
        for (const Trial& trial : folds) sum += trial.chosen[metric];
        rows.back().push_back(sum / static_cast<double>(folds.size()));
      }
    }
    return rows;
  }
  RankComparison ranks(std::size_t metric) const { return compare_ranks(values(metric), is_cost(metric)); }
};

/// Trains the three algorithms on every task and fold.
///
/// errors: bad_data when no task has feedback in every part; those of run_trial, naming the task
Result<Outcome> compare(std::string name, const Tasks& tasks, const Plan& plan,
                        const ExperimentOptions& options) {
  if (tasks.tasks.empty()) return fail(Code::bad_data, name + ": no task has feedback in every part");
  const auto run_task = [&](std::size_t t) -> Result<TaskTrials> {
    TaskTrials trials;
    for (std::size_t form = 0; form < kForms.size(); ++form)
      for (const Split& split : tasks.tasks[t].folds) {
        auto trial = run_trial(split, kForms[form], plan, options.seed);
        if (!trial) return fail(trial.error().code, tasks.tasks[t].name + ": " + trial.error().text);
        trials[form].push_back(std::move(*trial));
      }
    return trials;
  };
  TRY(auto trials, run_all(tasks.tasks.size(), options, run_task));
  return Outcome{std::move(name), tasks.left_out, plan.has_map ? kMetrics : kMap, std::move(trials)};
}

/// Adds average ranks with Friedman's test and Nemenyi's critical difference, and means (tables 1 to 4).
void describe(const Outcome& outcome, Report& report) {
  Table ranks{{{fmt::format("{}, {} tasks: average rank", outcome.name, outcome.trials.size())}}};
  Table means{{{outcome.name + ": mean"}}};
  for (const std::string& name : kNames) {
    ranks.add({name});
    means.add({name});
  }
  ranks.add({"Friedman's p"});
  ranks.add({"Nemenyi's critical difference"});
  JsonObject json;
  for (std::size_t metric = 0; metric < outcome.metrics; ++metric) {
    const auto values = outcome.values(metric);
    const auto comparison = outcome.ranks(metric);
    ranks.rows[0].push_back(kMetricNames[metric]);
    means.rows[0].push_back(kMetricNames[metric]);
    Figures means_of_forms{};
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      for (const auto& row : values) means_of_forms[form] += row[form] / static_cast<double>(values.size());
      ranks.rows[form + 1].push_back(fixed(comparison.average_ranks[form], 3));
      means.rows[form + 1].push_back(fixed(means_of_forms[form], 4));
    }
    ranks.rows[kForms.size() + 1].push_back(fixed(comparison.p_value, 4));
    ranks.rows[kForms.size() + 2].push_back(fixed(comparison.critical_difference, 3));
    json[kMetricNames[metric]] = JsonObject{{"average_ranks", json_array(comparison.average_ranks)},
                                            {"means", json_array(means_of_forms)},
                                            {"p", comparison.p_value},
                                            {"critical_difference", comparison.critical_difference}};
  }
  report.text += ranks.text() + means.text();
  if (outcome.left_out > 0)
    report.text += fmt::format(
        "{} tasks left out: no feature, too many pairs, or a part of a fold with a single grade\n\n",
        outcome.left_out);
  report.json[outcome.name] = std::move(json);
}

/// The claims about tables 1 and 3 and fig. 3.
void claims_of_ranks(const Outcome& outcome, Report& report) {
  for (std::size_t metric = 0; metric < kMap; ++metric) {
    const auto comparison = outcome.ranks(metric);
    const std::vector<double>& rank = comparison.average_ranks;
    const std::string where = outcome.name + ", " + kMetricNames[metric];
    const std::string evidence =
        named(kNames, rank, 3) + "; critical difference " + fixed(comparison.critical_difference, 3);
    report.judge(where + ": RankBoost+ has the smallest average rank, Rb-d the largest",
                 rank[2] < rank[1] && rank[1] < rank[0], evidence);
    if (is_cost(metric))
      report.judge(
          where + ": RankBoost+ is significantly better than both (Nemenyi, .05)",
          rank[2] < rank[1] && rank[2] < rank[0] && comparison.differ(2, 1) && comparison.differ(2, 0),
          evidence);
  }
}

/// The claims about table 2.
void claims_of_letor(const Outcome& outcome, Report& report) {
  std::size_t above = 0;
  std::size_t at_least = 0;
  for (std::size_t metric = 0; metric < kMap; ++metric) {
    const std::vector<double> rank = outcome.ranks(metric).average_ranks;
    above += rank[1] < rank[0] && rank[2] < rank[0] ? 1U : 0U;
    at_least += is_cost(metric) && rank[2] <= rank[1] ? 1U : 0U;
  }
  report.judge(outcome.name + ": RankBoost+ and Rb-c generally outperform Rb-d", above >= 3,
               fmt::format("both better in {} of 5 measures", above));
  report.judge(outcome.name + ": RankBoost+ is as good as Rb-c or better, but in NDCG", at_least == 2,
               fmt::format("in {} of R1 and R2", at_least));
}

/// A quantity that fig. 2 shows by round.
struct Followed {
  const char* name;
  double (*at)(const Trial&, std::size_t);
};
constexpr Followed kFollowed[] = {
    {"test R1", [](const Trial& trial, std::size_t t) { return trial.test[t][kR1]; }},
    {"test R2", [](const Trial& trial, std::size_t t) { return trial.test[t][kR2]; }},
    {"train E1", [](const Trial& trial, std::size_t t) { return trial.e1[t]; }},
    {"train E2", [](const Trial& trial, std::size_t t) { return trial.e2[t]; }},
    {"test NDCG@5", [](const Trial& trial, std::size_t t) { return trial.test[t][kNdcg5]; }}};

Curves mean_curves(const Outcome& outcome, const Followed& followed, std::size_t rounds) {
  Curves curves;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    curves[form].assign(rounds + 1, 0.0);
    double count = 0.0;
    for (const TaskTrials& task : outcome.trials)
      for (const Trial& trial : task[form]) {
        count += 1.0;
        for (std::size_t t = 0; t <= rounds; ++t) curves[form][t] += followed.at(trial, t);
      }
    for (double& value : curves[form]) value /= count;
  }
  return curves;
}

void judge_convergence(const Curves& r1, const Curves& r2, const Curves& e1, const Curves& e2,
                       Report& report) {
  report.judge("MovieLens: RankBoost+ lowers E2 throughout", e2[2].back() <= least_of(e2[2]) + 1e-12,
               "to " + fixed(e2[2].back(), 4));
  report.judge("MovieLens: Rb-d raises E2", e2[0].back() > 1.0, "to " + fixed(e2[0].back(), 4));
  report.judge("MovieLens: Rb-c lowers E2 at first and raises it later", e2[1].back() > least_of(e2[1]),
               fmt::format("least {:.4f}, last {:.4f}", least_of(e2[1]), e2[1].back()));
  Figures last{}, rise{};
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    last[form] = e1[form].back();
    rise[form] = r2[form].back() - least_of(r2[form]);
  }
  report.judge("MovieLens: Rb-d and Rb-c are better minimisers of E1 than RankBoost+",
               std::max(last[0], last[1]) < last[2], named(kNames, last, 4));
  report.judge("MovieLens: RankBoost+ overfits less: test R2 rises less above its least value",
               rise[2] < std::min(rise[0], rise[1]), named(kNames, rise, 4));
  const double first_gap = r1[2][1] - r2[2][1];
  const double last_gap = r1[2].back() - r2[2].back();
  report.judge("MovieLens: R1 and R2 come together as rounds pass", last_gap < 0.25 * first_gap,
               fmt::format("apart by {:.4f} after one round, {:.4f} at the end", first_gap, last_gap));
}

/// Fig. 2: losses and measures by round, averaged over the trainings, with the paper's claims about them.
void convergence_figure(const Outcome& outcome, std::size_t rounds, Report& report) {
  Table table{{{"after round"}}};
  std::vector<std::size_t> stops;
  for (const std::size_t t : {5U, 10U, 20U, 40U, 100U, 200U})
    if (t <= rounds) stops.push_back(t);
  for (const std::size_t t : stops) table.rows[0].push_back(std::to_string(t));
  std::vector<Curves> all;
  for (const Followed& followed : kFollowed) {
    const Curves& curves = all.emplace_back(mean_curves(outcome, followed, rounds));
    std::vector<evaluation::Curve> lines;
    JsonObject json;
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      std::vector<double> values;
      for (const std::size_t t : stops) values.push_back(curves[form][t]);
      table.add(followed.name + (" " + kNames[form]), values, 4);
      lines.push_back(curve_of(kNames[form], {curves[form].begin() + 1, curves[form].end()}));
      json[kNames[form]] = json_array(lines.back().y);
    }
    report.plot(lines, followed.name, "round", followed.name);
    report.json[followed.name] = std::move(json);
  }
  report.text += "Convergence on MovieLens (fig. 2)\n" + table.text();
  judge_convergence(all[0], all[1], all[2], all[3], report);
  Figures fall{};
  for (std::size_t form = 0; form < kForms.size(); ++form)
    fall[form] = highest_of(all[4][form]) - all[4][form].back();
  report.judge(
      "MovieLens: Rb-d and Rb-c overfit in NDCG@5 after a few rounds (sec. 6; fall from its highest "
      "value to the last round)",
      std::min(fall[0], fall[1]) > fall[2], named(kNames, fall, 4));
}

/// Fig. 4: runs that halt because Rb-d's weight is undefined.
void halting_figure(const Outcome& outcome, Report& report) {
  std::size_t halted = 0;
  std::size_t lower = 0;  // those of them in which Rb-c ends with a lower E1
  std::size_t runs = 0;
  const Trial* example = nullptr;  // the run that halts earliest; rival: Rb-c on the same fold
  const Trial* rival = nullptr;
  for (const TaskTrials& task : outcome.trials)
    for (std::size_t fold = 0; fold < task[0].size(); ++fold) {
      ++runs;
      if (!task[0][fold].is_halted) continue;
      ++halted;
      lower += task[1][fold].e1.back() < task[0][fold].e1.back() ? 1U : 0U;
      if (example != nullptr && example->rounds <= task[0][fold].rounds) continue;
      example = &task[0][fold];
      rival = &task[1][fold];
    }
  report.text +=
      fmt::format("{}: Rb-d halted in {} of {} trainings because its weak ranking reversed no pair\n\n",
                  outcome.name, halted, runs);
  report.judge(outcome.name + ": Rb-d's weight becomes undefined on real data (fig. 4)", halted > 0,
               fmt::format("{} of {} trainings", halted, runs));
  if (example == nullptr || outcome.name != "MovieLens") return;
  const auto end =
      example->e1.begin() + static_cast<std::ptrdiff_t>(std::min(example->rounds + 1, rival->e1.size()));
  report.plot({curve_of("Rb-d, halted", {example->e1.begin(), end}, 0.0), curve_of("Rb-c", rival->e1, 0.0)},
              "Rb-d halts (fig. 4)", "round", "train E1");
  report.judge("where Rb-d halts, its ensemble is not at the minimum of E1", lower > 0,
               fmt::format("Rb-c ends lower in {} of {} such trainings; the earliest halts after {} rounds "
                           "at E1 {:.4f}, Rb-c reaches {:.4f}",
                           lower, halted, example->rounds, example->e1.back(), rival->e1.back()));
}

}  // namespace
}  // namespace rankboost_plus

Result<Report> run_rankboost_plus(const ExperimentOptions& options) {
  using namespace rankboost_plus;
  const std::size_t rounds = options.is_quick() ? 40 : options.is_full() ? 200 : 100;
  Report report{fmt::format(
      "Each measure on test after the round (up to {}) that was best for it on validation; ranks of the "
      "three algorithms averaged over tasks.\n\n",
      rounds)};
  const Random random(options.seed);
  TRY(const auto users, movie_tasks(options.data, options.is_quick() ? 10 : kAnyCount, random.split(1)));
  TRY(const auto movies, compare("MovieLens", users, {rounds, false, true}, options));
  describe(movies, report);
  claims_of_ranks(movies, report);
  convergence_figure(movies, rounds, report);
  halting_figure(movies, report);
  TRY(const auto queries, web_tasks(options.data, options.is_quick() ? 4 : kAnyCount, random.split(2)));
  TRY(const auto web, compare("MSLR sample", queries, {rounds, false, false}, options));
  describe(web, report);
  claims_of_ranks(web, report);
  halting_figure(web, report);
  TRY(const auto folds, letor_tasks(options.data, options.is_quick() ? 1 : kFifths));
  TRY(const auto letor, compare("MQ2008", folds, {rounds, true, false}, options));
  describe(letor, report);
  claims_of_letor(letor, report);
  speed_figure(options, report);
  report.leave("the 300 queries of MSLR-WEB10K", "only 36 of its 10,000 queries are available here");
  report.leave("MQ2007's rows of tables 2 and 4", "its 46-feature file is not available here");
  return report;
}

}  // namespace metafuse::lab::experiments
