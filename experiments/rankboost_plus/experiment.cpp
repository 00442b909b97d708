#include "experiments/rankboost_plus/experiment.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>

#include "core/parallel.h"
#include "evaluation/average_ranks.h"
#include "evaluation/svg_plot.h"
#include "experiments/interval.h"
#include "experiments/paper_report.h"
#include "experiments/rankboost_plus/trial.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::rankboost_plus::Form;
using fusion::rankboost_plus::form_name;

struct Plan {
  std::size_t users = 100000;
  std::size_t queries = 100000;
  std::size_t folds = 5;
  std::size_t rounds = 100;
};

/// What the three algorithms did on one domain.
struct Outcome {
  std::string name;
  std::size_t left_out = 0;
  bool has_map = false;
  std::vector<std::array<std::vector<Trial>, kForms.size()>> trials;  ///< task, form, fold

  /// Mean over the folds of a task.
  double value(std::size_t task, std::size_t form, std::size_t metric) const {
    double sum = 0.0;
    for (const Trial& trial : trials[task][form]) sum += trial.chosen[metric];
    return sum / static_cast<double>(trials[task][form].size());
  }
  std::vector<std::vector<double>> values(std::size_t metric) const {
    std::vector<std::vector<double>> rows;
    for (std::size_t task = 0; task < trials.size(); ++task) {
      rows.emplace_back();
      for (std::size_t form = 0; form < kForms.size(); ++form)
        rows.back().push_back(value(task, form, metric));
    }
    return rows;
  }
  double mean(std::size_t form, std::size_t metric) const {
    double sum = 0.0;
    for (std::size_t task = 0; task < trials.size(); ++task) sum += value(task, form, metric);
    return sum / static_cast<double>(trials.size());
  }
};

Result<Outcome> compare(std::string name, const Tasks& tasks, const Plan& plan, bool has_map,
                        bool has_all_losses, const ExperimentOptions& options) {
  if (tasks.tasks.empty()) return fail(Code::bad_data, name + ": no task has feedback in every part");
  Outcome outcome{std::move(name), tasks.left_out, has_map, {}};
  outcome.trials.resize(tasks.tasks.size());
  std::vector<Result<void>> results(tasks.tasks.size());
  std::atomic<std::size_t> done{0};
  parallel_for(tasks.tasks.size(), options.threads, [&](std::size_t t) {
    for (std::size_t form = 0; form < kForms.size(); ++form)
      for (const Split& split : tasks.tasks[t].folds) {
        auto trial = run_trial(split, kForms[form], {plan.rounds, has_map, has_all_losses, options.seed});
        if (!trial) {
          results[t] = fail(trial.error().code, tasks.tasks[t].name + ": " + trial.error().text);
          return;
        }
        outcome.trials[t][form].push_back(std::move(*trial));
      }
    const std::size_t now = ++done;
    if (options.progress && options.threads <= 1) options.progress(now, tasks.tasks.size());
  });
  if (options.progress) options.progress(tasks.tasks.size(), tasks.tasks.size());
  for (const auto& result : results)
    if (!result) return result.error();
  return outcome;
}

std::size_t metric_count(const Outcome& outcome) {
  return outcome.has_map ? kMetrics : kMap;
}

void describe(const Outcome& outcome, PaperReport& report) {
  std::vector<std::vector<std::string>> ranks = {
      {outcome.name + ", " + std::to_string(outcome.trials.size()) + " tasks: average rank"}};
  std::vector<std::vector<std::string>> means = {{outcome.name + ": mean"}};
  std::vector<std::string> p_values = {"Friedman's p"};
  std::vector<std::string> differences = {"Nemenyi's critical difference"};
  JsonObject json;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    ranks.push_back({std::string(form_name(kForms[form]))});
    means.push_back({std::string(form_name(kForms[form]))});
  }
  for (std::size_t metric = 0; metric < metric_count(outcome); ++metric) {
    const auto comparison = evaluation::compare_ranks(outcome.values(metric), is_cost(metric));
    ranks[0].push_back(kMetricNames[metric]);
    means[0].push_back(kMetricNames[metric]);
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      ranks[form + 1].push_back(fixed(comparison.average_ranks[form], 3));
      means[form + 1].push_back(fixed(outcome.mean(form, metric), 4));
    }
    p_values.push_back(fixed(comparison.p_value, 4));
    differences.push_back(fixed(comparison.critical_difference, 3));
    json[kMetricNames[metric]] = JsonObject{
        {"average_ranks", JsonArray(comparison.average_ranks.begin(), comparison.average_ranks.end())},
        {"p", comparison.p_value},
        {"critical_difference", comparison.critical_difference}};
  }
  ranks.push_back(p_values);
  ranks.push_back(differences);
  report.text += columns(ranks) + columns(means);
  if (outcome.left_out > 0)
    report.text += std::to_string(outcome.left_out) +
                   " tasks left out: no feature, too many pairs, or a part of a "
                   "fold with a single grade\n\n";
  report.json[outcome.name] = std::move(json);
}

/// Tables 1 and 3, fig. 3.
void claims_of_ranks(const Outcome& outcome, PaperReport& report) {
  for (std::size_t metric = 0; metric < kMap; ++metric) {
    const auto comparison = evaluation::compare_ranks(outcome.values(metric), is_cost(metric));
    const std::vector<double>& rank = comparison.average_ranks;
    const std::string evidence = "Rb-d " + fixed(rank[0], 3) + ", Rb-c " + fixed(rank[1], 3) +
                                 ", RankBoost+ " + fixed(rank[2], 3) + "; critical difference " +
                                 fixed(comparison.critical_difference, 3);
    report.claims.push_back(judged(outcome.name + ", " + kMetricNames[metric] +
                                       ": RankBoost+ has the smallest average rank, Rb-d the largest",
                                   rank[2] < rank[1] && rank[1] < rank[0], evidence));
    if (is_cost(metric))
      report.claims.push_back(
          judged(outcome.name + ", " + kMetricNames[metric] +
                     ": RankBoost+ is significantly better than both (Nemenyi, .05)",
                 rank[2] < rank[1] && rank[2] < rank[0] && comparison.differ(2, 1) && comparison.differ(2, 0),
                 evidence));
  }
}

/// Table 2.
void claims_of_letor(const Outcome& outcome, PaperReport& report) {
  const auto rank_of = [&](std::size_t metric) {
    return evaluation::compare_ranks(outcome.values(metric), is_cost(metric)).average_ranks;
  };
  std::size_t above = 0;
  std::size_t at_least = 0;
  for (std::size_t metric = 0; metric < kMap; ++metric) {
    const std::vector<double> rank = rank_of(metric);
    above += rank[1] < rank[0] && rank[2] < rank[0] ? 1U : 0U;
    at_least += is_cost(metric) && rank[2] <= rank[1] ? 1U : 0U;
  }
  report.claims.push_back(judged(outcome.name + ": RankBoost+ and Rb-c generally outperform Rb-d", above >= 3,
                                 "both better in " + std::to_string(above) + " of 5 measures"));
  report.claims.push_back(judged(outcome.name + ": RankBoost+ is as good as Rb-c or better, but in NDCG",
                                 at_least == 2, "in " + std::to_string(at_least) + " of R1 and R2"));
}

std::vector<double> mean_curve(const Outcome& outcome, std::size_t form,
                               const std::function<double(const Trial&, std::size_t)>& at,
                               std::size_t rounds) {
  std::vector<double> mean(rounds + 1, 0.0);
  double count = 0.0;
  for (const auto& task : outcome.trials)
    for (const Trial& trial : task[form]) {
      count += 1.0;
      for (std::size_t t = 0; t <= rounds; ++t) mean[t] += at(trial, t);
    }
  for (double& value : mean) value /= count;
  return mean;
}

struct Convergence {
  std::array<std::vector<double>, kForms.size()> e1, e2, r1, r2, ndcg;
};

Convergence convergence_of(const Outcome& outcome, std::size_t rounds) {
  Convergence curves;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    curves.e1[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.e1[t]; }, rounds);
    curves.e2[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.e2[t]; }, rounds);
    curves.r1[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kR1]; }, rounds);
    curves.r2[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kR2]; }, rounds);
    curves.ndcg[form] = mean_curve(
        outcome, form, [](const Trial& trial, std::size_t t) { return trial.test[t][kNdcg5]; }, rounds);
  }
  return curves;
}

void plot(const std::string& title, const std::array<std::vector<double>, kForms.size()>& curves,
          PaperReport& report) {
  std::vector<evaluation::Curve> lines;
  JsonObject json;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    evaluation::Curve line{std::string(form_name(kForms[form])), {}, {}};
    for (std::size_t t = 1; t < curves[form].size(); ++t) {
      line.x.push_back(static_cast<double>(t));
      line.y.push_back(curves[form][t]);
    }
    json[line.name] = JsonArray(line.y.begin(), line.y.end());
    lines.push_back(std::move(line));
  }
  report.plots.push_back(evaluation::svg_plot(lines, {title, "round", title, false}));
  report.json[title] = std::move(json);
}

double fall_to(const std::vector<double>& curve) {
  return *std::min_element(curve.begin(), curve.end());
}

/// Fig. 2.
void convergence_figure(const Convergence& curves, PaperReport& report) {
  plot("test R1", curves.r1, report);
  plot("test R2", curves.r2, report);
  plot("train E1", curves.e1, report);
  plot("train E2", curves.e2, report);
  plot("test NDCG@5", curves.ndcg, report);
  std::vector<std::vector<std::string>> rows = {{"after round"}};
  const std::size_t rounds = curves.e1[0].size() - 1;
  std::vector<std::size_t> stops;
  for (const std::size_t t : {5U, 10U, 20U, 40U, 100U, 200U})
    if (t <= rounds) stops.push_back(t);
  for (const std::size_t t : stops) rows[0].push_back(std::to_string(t));
  const auto add = [&](const char* name, const std::array<std::vector<double>, kForms.size()>& values) {
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      rows.push_back({std::string(name) + " " + std::string(form_name(kForms[form]))});
      for (const std::size_t t : stops) rows.back().push_back(fixed(values[form][t], 4));
    }
  };
  add("test R1", curves.r1);
  add("test R2", curves.r2);
  add("train E1", curves.e1);
  add("train E2", curves.e2);
  add("test NDCG@5", curves.ndcg);
  report.text += "Convergence on MovieLens (fig. 2)\n" + columns(rows);
  const auto& e2 = curves.e2;
  report.claims.push_back(judged("MovieLens: RankBoost+ lowers E2 throughout",
                                 e2[2].back() <= fall_to(e2[2]) + 1e-12, "to " + fixed(e2[2].back(), 4)));
  report.claims.push_back(
      judged("MovieLens: Rb-d raises E2", e2[0].back() > 1.0, "to " + fixed(e2[0].back(), 4)));
  report.claims.push_back(judged("MovieLens: Rb-c lowers E2 at first and raises it later",
                                 e2[1].back() > fall_to(e2[1]),
                                 "least " + fixed(fall_to(e2[1]), 4) + ", last " + fixed(e2[1].back(), 4)));
  report.claims.push_back(judged("MovieLens: Rb-d and Rb-c are better minimisers of E1 than RankBoost+",
                                 std::max(curves.e1[0].back(), curves.e1[1].back()) < curves.e1[2].back(),
                                 "Rb-d " + fixed(curves.e1[0].back(), 4) + ", Rb-c " +
                                     fixed(curves.e1[1].back(), 4) + ", RankBoost+ " +
                                     fixed(curves.e1[2].back(), 4)));
  std::array<double, kForms.size()> rise{};
  for (std::size_t form = 0; form < kForms.size(); ++form)
    rise[form] = curves.r2[form].back() - fall_to(curves.r2[form]);
  report.claims.push_back(judged(
      "MovieLens: RankBoost+ overfits less: test R2 rises less above its least value",
      rise[2] < std::min(rise[0], rise[1]),
      "Rb-d " + fixed(rise[0], 4) + ", Rb-c " + fixed(rise[1], 4) + ", RankBoost+ " + fixed(rise[2], 4)));
  const double apart_first = curves.r1[2][1] - curves.r2[2][1];
  const double apart_last = curves.r1[2].back() - curves.r2[2].back();
  report.claims.push_back(judged(
      "MovieLens: R1 and R2 come together as rounds pass", apart_last < 0.25 * apart_first,
      "apart by " + fixed(apart_first, 4) + " after one round, " + fixed(apart_last, 4) + " at the end"));
}

/// Fig. 4.
void halting(const Outcome& outcome, PaperReport& report) {
  std::size_t halted = 0;
  std::size_t lower = 0;  // of them, those where Rb-c ends lower on E1
  std::size_t runs = 0;
  const Trial* example = nullptr;
  const Trial* rival = nullptr;
  for (const auto& task : outcome.trials)
    for (std::size_t fold = 0; fold < task[0].size(); ++fold) {
      ++runs;
      if (!task[0][fold].is_halted) continue;
      ++halted;
      lower += task[1][fold].e1.back() < task[0][fold].e1.back() ? 1U : 0U;
      if (example != nullptr && example->rounds <= task[0][fold].rounds) continue;
      example = &task[0][fold];
      rival = &task[1][fold];
    }
  report.text += outcome.name + ": Rb-d halted in " + std::to_string(halted) + " of " + std::to_string(runs) +
                 " trainings because its weak ranking reversed no pair\n\n";
  report.claims.push_back(judged(outcome.name + ": Rb-d's weight becomes undefined on real data (fig. 4)",
                                 halted > 0,
                                 std::to_string(halted) + " of " + std::to_string(runs) + " trainings"));
  if (example == nullptr || outcome.name != "MovieLens") return;
  std::vector<evaluation::Curve> curves = {{"Rb-d, halted", {}, {}}, {"Rb-c", {}, {}}};
  for (std::size_t t = 0; t < rival->e1.size(); ++t) {
    curves[1].x.push_back(static_cast<double>(t));
    curves[1].y.push_back(rival->e1[t]);
    if (t > example->rounds) continue;
    curves[0].x.push_back(static_cast<double>(t));
    curves[0].y.push_back(example->e1[t]);
  }
  report.plots.push_back(evaluation::svg_plot(curves, {"Rb-d halts (fig. 4)", "round", "train E1", false}));
  report.claims.push_back(judged(
      "where Rb-d halts, its ensemble is not at the minimum of E1", lower > 0,
      "Rb-c ends lower in " + std::to_string(lower) + " of " + std::to_string(halted) +
          " such trainings; the earliest halts after " + std::to_string(example->rounds) + " rounds at E1 " +
          fixed(example->e1.back(), 4) + ", Rb-c reaches " + fixed(rival->e1.back(), 4)));
}

fusion::TrainingSet synthetic_set(Random random) {
  constexpr std::size_t kDocuments = 60;
  constexpr std::size_t kFeatures = 25;
  fusion::TrainingSet set;
  std::vector<fusion::Feature> features;
  for (std::size_t f = 0; f < kFeatures; ++f)
    features.push_back({"f" + std::to_string(f), fusion::FeatureKind::value, 0});
  set.matrix = fusion::FeatureMatrix(std::move(features), kDocuments);
  set.queries = {{"synthetic", 0, kDocuments, 1.0}};
  for (std::size_t x = 0; x < kDocuments; ++x) {
    set.grades.push_back(static_cast<double>(random.below(5)));
    set.in_feedback.push_back(1);
    for (std::size_t f = 0; f < kFeatures; ++f)
      set.matrix.set(x, f, std::floor(set.grades.back() + 2.5 * random.normal()));
  }
  return set;
}

/// Fig. 1: milliseconds of each round.
void speed_figure(const ExperimentOptions& options, PaperReport& report) {
  using Clock = std::chrono::steady_clock;
  const fusion::TrainingSet set = synthetic_set(Random(options.seed));
  const auto pairs = fusion::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1));
  if (!pairs) return;
  const fusion::rankboost_plus::StumpTable stumps(fusion::CodedFeatures(set.matrix, {}), 255, Random(1));
  std::vector<evaluation::Curve> curves;
  std::vector<double> late;  // median of the second half of the rounds
  for (const Form form : {Form::plus_optimal, Form::plus_efficient, Form::continuous}) {
    fusion::rankboost_plus::BoostOptions boosting;
    boosting.form = form;
    boosting.rounds = 80;
    boosting.has_all_losses = false;
    boosting.seed = options.seed;
    evaluation::Curve curve{
        form == Form::plus_efficient ? "RankBoost+ (efficient)" : std::string(form_name(form)), {}, {}};
    Clock::time_point last = Clock::now();
    (void)fusion::rankboost_plus::boost_stumps(stumps, *pairs, boosting, [&](const auto&) {
      const Clock::time_point now = Clock::now();
      curve.x.push_back(static_cast<double>(curve.x.size() + 1));
      curve.y.push_back(std::chrono::duration<double, std::milli>(now - last).count());
      last = Clock::now();
      return true;
    });
    std::vector<double> half(curve.y.begin() + static_cast<std::ptrdiff_t>(curve.y.size() / 2),
                             curve.y.end());
    std::sort(half.begin(), half.end());
    late.push_back(half.empty() ? 0.0 : half[half.size() / 2]);
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  }
  if (curves.empty()) return;
  report.plots.push_back(
      evaluation::svg_plot(curves, {"milliseconds a round, synthetic data (fig. 1)", "round", "ms", false}));
  report.claims.push_back(
      judged("the efficient form runs at about the speed of Rb-c once its candidates are independent, the "
             "optimal form is slower",
             late[1] < 3.0 * late[2] && late[0] > late[1],
             "median ms a round: optimal " + fixed(late[0], 3) + ", efficient " + fixed(late[1], 3) +
                 ", Rb-c " + fixed(late[2], 3)));
}

}  // namespace

Result<std::string> run_rankboost_plus(const ExperimentOptions& options) {
  Plan plan;
  if (options.size == ExperimentOptions::Size::quick) plan = {10, 4, 1, 40};
  if (options.size == ExperimentOptions::Size::full) plan = {100000, 100000, 5, 200};
  PaperReport report;
  report.name = "rankboost-plus";
  report.title = "RankBoost+ against Rb-d and Rb-c (Connamacher et al. 2020)";
  report.text =
      "Each measure on test after the round (up to " + std::to_string(plan.rounds) +
      ") that was best for it on validation; ranks of the three algorithms averaged over tasks.\n\n";
  const Random random(options.seed);
  const auto users = movie_tasks(options.data, plan.users, random.split(1));
  if (!users) return users.error();
  const auto movies = compare("MovieLens", *users, plan, false, true, options);
  if (!movies) return movies.error();
  describe(*movies, report);
  claims_of_ranks(*movies, report);
  convergence_figure(convergence_of(*movies, plan.rounds), report);
  halting(*movies, report);
  const auto queries = web_tasks(options.data, plan.queries, random.split(2));
  if (!queries) return queries.error();
  const auto web = compare("MSLR sample", *queries, plan, false, false, options);
  if (!web) return web.error();
  describe(*web, report);
  claims_of_ranks(*web, report);
  halting(*web, report);
  const auto folds = letor_tasks(options.data, plan.folds);
  if (!folds) return folds.error();
  const auto letor = compare("MQ2008", *folds, plan, true, false, options);
  if (!letor) return letor.error();
  describe(*letor, report);
  claims_of_letor(*letor, report);
  speed_figure(options, report);
  report.claims.push_back(
      untestable("the 300 queries of MSLR-WEB10K", "only 36 of its 10,000 queries are to be had here"));
  report.claims.push_back(
      untestable("MQ2007's rows of tables 2 and 4", "its 46-feature file is not to be had here"));
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::rankboost_plus
