// The movie experiment of Freund et al. 2003, sec. 6.2, with MovieLens 100K instead of EachMovie: draws the
// tasks for figures 5 to 8, measures every method on them, also those that sec. 6.2.6 and 7 propose, and
// judges the paper's claims. Quick: one split with 24 targets. Full: every target.
#include "lab/experiments/movies.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evaluation/significance/significance.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace movies {
namespace {

/// A point of a figure: viewers who are features, viewers to predict for, and their tasks.
struct Setting {
  std::string label;
  double x = 0.0;
  std::vector<Task> tasks = {};
};

/// The values of every method and task at each setting of a figure.
struct Figure {
  std::string name;
  std::string x_name;
  std::vector<Method> methods;
  std::vector<Setting> settings;
  std::vector<std::vector<std::vector<Values>>> values = {};  ///< setting, task, method

  std::size_t last() const { return settings.size() - 1; }
  std::vector<double> of_tasks(std::size_t setting, Method method, Measure measure) const {
    const auto place = std::find(methods.begin(), methods.end(), method) - methods.begin();
    std::vector<double> out;
    for (const auto& task : values[setting]) out.push_back(task[static_cast<std::size_t>(place)][measure]);
    return out;
  }
  double mean(std::size_t setting, Method method, Measure measure) const {
    return values[setting].empty() ? 0.0 : mean_of(of_tasks(setting, method, measure));
  }
};

struct Sizes {
  std::size_t splits = 5;
  std::size_t targets = 100;
};

using Viewers = std::vector<std::size_t>;

const std::vector<Method> kPaperMethods = {Method::rankboost, Method::vector_similarity,
                                           Method::nearest_neighbour, Method::regression,
                                           Method::random_guessing};
const std::vector<Method> kLearners(kPaperMethods.begin(), kPaperMethods.end() - 1);

Viewers first_of(const Viewers& viewers, std::size_t count) {
  return {viewers.begin(), viewers.begin() + static_cast<std::ptrdiff_t>(std::min(count, viewers.size()))};
}

/// The viewers after the first `count`.
Viewers all_after(const Viewers& viewers, std::size_t count) {
  return {viewers.begin() + static_cast<std::ptrdiff_t>(std::min(count, viewers.size())), viewers.end()};
}

/// A range for the number of movies that a viewer has rated.
struct Bin {
  const char* label;
  std::size_t least, most;
};
constexpr Bin kBins[] = {{"20-40", 20, 40}, {"41-60", 41, 60}, {"61-100", 61, 100}, {"101+", 101, 1000}};

Viewers in_bin(const Ratings& ratings, const Viewers& viewers, const Bin& bin) {
  Viewers chosen;
  for (const std::size_t viewer : viewers)
    if (const std::size_t count = ratings.rated[viewer].size(); count >= bin.least && count <= bin.most)
      chosen.push_back(viewer);
  return chosen;
}

/// One setting per bin, placed at the mean number of movies that its viewers rated.
std::vector<Setting> density_settings(const Ratings& ratings, Random random) {
  std::vector<Setting> settings;
  for (const Bin& bin : kBins) {
    const Viewers viewers = in_bin(ratings, shuffled(ratings.viewer_count(), random), bin);
    const auto count = [&](std::size_t viewer) { return static_cast<double>(ratings.rated[viewer].size()); };
    settings.push_back({bin.label, viewers.empty() ? 0.0 : mean_by(viewers, count)});
  }
  return settings;
}

/// Draws the tasks of a figure: choose(viewers in random order, setting) gives features and targets. The
/// halves of a task depend only on the split and the target; targets without feedback are left out.
template <class Choose>
Figure drawn(Figure figure, const Ratings& ratings, const Sizes& sizes, const Random& random,
             const Choose& choose) {
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    Random own = random.split(split);
    const Viewers viewers = shuffled(ratings.viewer_count(), own);
    for (std::size_t s = 0; s < figure.settings.size(); ++s) {
      const auto [features, targets] = choose(viewers, s);
      for (const std::size_t target : targets) {
        Task task = make_task(ratings, features, target, random.split(1000 + split).split(target));
        if (has_feedback(task)) figure.settings[s].tasks.push_back(std::move(task));
      }
    }
  }
  return figure;
}

/// The first so many viewers are features, and viewers after the largest of these numbers are targets.
Figure by_count(Figure figure, const Viewers& counts, const Ratings& ratings, const Sizes& sizes,
                const Random& random) {
  for (const std::size_t count : counts)
    figure.settings.push_back({std::to_string(count), static_cast<double>(count)});
  return drawn(std::move(figure), ratings, sizes, random, [&](const Viewers& viewers, std::size_t s) {
    return std::pair(first_of(viewers, counts[s]),
                     first_of(all_after(viewers, counts.back()), sizes.targets));
  });
}

/// Figs. 5 to 7, and sec. 7: minimising the ranking loss against minimising the classification error.
std::vector<Figure> draw_figures(const Ratings& ratings, const Sizes& sizes, const Random& random) {
  std::vector<Method> and_proposed = kPaperMethods;
  and_proposed.insert(and_proposed.end(),
                      {Method::normalised_regression, Method::ten_neighbours, Method::rankboost_with_vsim});
  const std::vector<Method> boosting = {Method::rankboost, Method::rankboost_bipartite, Method::adaboost};
  // 80 features of the same density, targets of any density
  const auto dense_features = [&](const Viewers& viewers, std::size_t bin) {
    const Viewers targets = first_of(viewers, std::min(sizes.targets, viewers.size() / 4));
    const Viewers rest = all_after(viewers, targets.size());
    return std::pair(first_of(in_bin(ratings, rest, kBins[bin]), 80), targets);
  };
  // 500 features, targets of the same density
  const auto dense_targets = [&](const Viewers& viewers, std::size_t bin) {
    const Viewers rest = in_bin(ratings, all_after(viewers, 500), kBins[bin]);
    return std::pair(first_of(viewers, 500), first_of(rest, sizes.targets / 2));
  };
  const Random of_features = random.split(6);
  const Random of_feedback = random.split(7);
  return {by_count({"number of features", "features", and_proposed, {}}, {100, 200, 500, 750}, ratings, sizes,
                   random.split(5)),
          drawn({"density of features", "mean number of movies that a feature ranks", kPaperMethods,
                 density_settings(ratings, of_features)},
                ratings, sizes, of_features, dense_features),
          drawn({"density of feedback", "mean number of movies that a target ranks", kPaperMethods,
                 density_settings(ratings, of_feedback)},
                ratings, sizes, of_feedback, dense_targets),
          by_count({"bipartite feedback", "features", boosting, {}}, {500}, ratings, sizes, random.split(8))};
}

/// Runs every method on every task of the figures.
/// errors: those of the methods
Result<void> measure_figures(std::vector<Figure>& figures, const Ratings& ratings,
                             const ExperimentOptions& options) {
  struct Job {
    Figure* figure;
    std::size_t setting;
    const Task* task;
  };
  std::vector<Job> jobs;
  for (Figure& figure : figures) {
    figure.values.resize(figure.settings.size());
    for (std::size_t s = 0; s < figure.settings.size(); ++s)
      for (const Task& task : figure.settings[s].tasks) jobs.push_back({&figure, s, &task});
  }
  TRY(auto results, run_all(jobs.size(), options, [&](std::size_t i) {
        return run_methods(ratings, *jobs[i].task, jobs[i].figure->methods);
      }));
  for (std::size_t i = 0; i < jobs.size(); ++i)
    jobs[i].figure->values[jobs[i].setting].push_back(std::move(results[i]));
  return {};
}

void describe(const Figure& figure, Report& report) {
  JsonArray labels;
  std::vector<std::string> columns;
  std::vector<double> x;
  for (const Setting& setting : figure.settings) {
    labels.emplace_back(setting.label);
    columns.push_back(fmt::format("{} ({})", setting.label, setting.tasks.size()));
    x.push_back(setting.x);
  }
  JsonObject json{{"settings", std::move(labels)}};
  for (const Measure measure : kAllMeasures) {
    const std::string name = kMeasureNames[measure];
    Figures figures{figure.name + ": " + name, columns};
    for (const Method method : figure.methods) {
      std::vector<double> means;
      for (std::size_t s = 0; s < x.size(); ++s) means.push_back(figure.mean(s, method, measure));
      figures.add(method_name(method), means);
    }
    report.text += figures.table(4).text();
    json[name] = figures.json();
    if (x.size() > 1) report.plot(figures.curves(x), figures.title, figure.x_name, name);
  }
  report.json[figure.name] = std::move(json);
}

/// Fig. 8: random guessing in closed form, eq. (22).
void random_guessing_figure(Report& report) {
  const std::vector<std::string> names(kMeasureNames.begin() + 1, kMeasureNames.end());
  Figures figures{"random guessing (fig. 8)", names};
  const auto add = [&](const std::vector<std::pair<std::size_t, std::size_t>>& settings,
                       const std::vector<double>& x, const std::string& title, const std::string& x_name) {
    std::vector<evaluation::Curve> curves;
    for (const std::string& name : names) curves.push_back({name, x, {}});
    for (const auto& [part, movies] : settings) {
      std::vector<double> grades(movies, 1.0);
      std::fill_n(grades.begin(), movies / part, 2.0);
      const Values values = measure(std::vector<double>(movies, 0.0), grades);
      figures.add(fmt::format("1/{} of {} movies good", part, movies), {values.begin() + 1, values.end()});
      for (std::size_t m = 0; m < names.size(); ++m) curves[m].y.push_back(values[m + 1]);
    }
    report.plot(curves, title, x_name, "value");
    return curves;
  };
  add({{2, 60}, {3, 60}, {4, 60}, {5, 60}}, {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5},
      "random guessing, 60 movies", "share of good movies");
  const auto curves = add({{4, 20}, {4, 40}, {4, 60}, {4, 100}, {4, 200}}, {20, 40, 60, 100, 200},
                          "random guessing, 1/4 good", "movies");
  report.text += figures.table(4).text();
  std::string evidence;
  for (const evaluation::Curve& curve : curves)
    evidence += fmt::format(", {} {:.3f} to {:.3f}", curve.name, curve.y.front(), curve.y.back());
  report.judge(
      "random guessing's AP, PROT and coverage fall with the number of movies "
      "at a fixed share of good ones",
      std::all_of(curves.begin(), curves.end(), [](const auto& c) { return c.y.back() < c.y.front(); }),
      "from 20 to 200 movies: " + evidence.substr(2));
}

/// How much better one value is than another: lower for disagreement, higher for the other measures.
double gain(Measure measure, double better, double worse) {
  return measure == kDisagreement ? worse - better : better - worse;
}

/// Over the measures and settings of a figure: in how many means one method beats another, and for how many
/// of these a paired t test at .05 agrees.
struct Wins {
  std::size_t wins = 0, significant = 0, of = 0;
  std::string text() const {
    return fmt::format("better in {} of {} means, {} of them at p < .05, paired t", wins, of, significant);
  }
};

Wins wins_over(const Figure& figure, Method a, Method b, std::size_t first, std::size_t last) {
  Wins wins;
  for (std::size_t s = first; s <= last; ++s)
    for (const Measure measure : kAllMeasures) {
      ++wins.of;
      if (gain(measure, figure.mean(s, a, measure), figure.mean(s, b, measure)) <= 0.0) continue;
      ++wins.wins;
      const auto p =
          evaluation::paired_t_test(figure.of_tasks(s, a, measure), figure.of_tasks(s, b, measure));
      wins.significant += p.value_or(1.0) < 0.05 ? 1U : 0U;
    }
  return wins;
}

/// How much a method gains from the first setting to the last.
double slope(const Figure& figure, Method method, Measure measure) {
  return gain(measure, figure.mean(figure.last(), method, measure), figure.mean(0, method, measure));
}

/// The most that another method that learns gains from the first setting to the last.
double best_other_slope(const Figure& figure, Measure measure) {
  double best = -1.0;
  for (const Method method : kLearners)
    if (method != Method::rankboost) best = std::max(best, slope(figure, method, measure));
  return best;
}

/// A claim "A beats B ... on all four measures", for the settings from `first` on.
struct Contest {
  Method a, b;
  std::size_t first;
  const char* where;
};

void judge(const Figure& figure, const Contest& contest, Report& report) {
  const Wins wins = wins_over(figure, contest.a, contest.b, contest.first, figure.last());
  report.judge(fmt::format("{} beats {} {} on all four measures", method_name(contest.a),
                           method_name(contest.b), contest.where),
               wins.wins == wins.of, wins.text());
}

/// Judges whether RankBoost gains most from the first setting to the last.
void judge_slope(const Figure& figure, Report& report) {
  std::size_t best = 0;
  std::string evidence;
  for (const Measure measure : kAllMeasures) {
    const double own = slope(figure, Method::rankboost, measure);
    const double other = best_other_slope(figure, measure);
    best += own > other ? 1U : 0U;
    evidence += fmt::format("{} gains {:.4f}, next {:.4f}; ", kMeasureNames[measure], own, other);
  }
  report.judge("RankBoost improves most as " + figure.name + " grows", best == kMeasures,
               fmt::format("{}best in {} of 4", evidence, best));
}

/// Judges whether a method's mean is below that of random guessing in every setting.
void judge_below_guessing(const Figure& figure, const char* claim, Method method, Measure measure,
                          Report& report) {
  std::size_t below = 0;
  for (std::size_t s = 0; s < figure.settings.size(); ++s)
    below += figure.mean(s, method, measure) < figure.mean(s, Method::random_guessing, measure) ? 1U : 0U;
  report.judge(claim, below == figure.settings.size(),
               fmt::format("at {} of {} settings; {:.3f} against {:.3f} at the last", below,
                           figure.settings.size(), figure.mean(figure.last(), method, measure),
                           figure.mean(figure.last(), Method::random_guessing, measure)));
}

/// The claims about fig. 5.
void claims_of_counts(const Figure& figure, Report& report) {
  constexpr const char* kEverywhere = "at every number of features";
  for (const Contest& contest :
       {Contest{Method::rankboost, Method::regression, 0, kEverywhere},
        Contest{Method::rankboost, Method::nearest_neighbour, 0, kEverywhere},
        Contest{Method::rankboost, Method::vector_similarity, 2, "beyond 200 features"}})
    judge(figure, contest, report);
  judge_slope(figure, report);
  judge_below_guessing(figure, "NN's PROT is worse than random guessing's", Method::nearest_neighbour,
                       kRankOfTop, report);
  const double disagreement = figure.mean(figure.last(), Method::regression, kDisagreement);
  report.judge("regression's disagreement is little better than random guessing's .5",
               std::abs(disagreement - 0.5) < 0.05, fixed(disagreement, 3) + " at the last setting");
  judge_below_guessing(figure, "regression's AP is below random guessing's", Method::regression,
                       kAveragePrecision, report);
  report.leave("the curves beyond 750 features (1000 and 2000)",
               "MovieLens 100K has 943 viewers; EachMovie is no longer available");
}

/// Judges how the share of good movies changes with the density of feedback (sec. 6.2.5).
void judge_good_movies(const Figure& figure, Report& report) {
  std::vector<double> shares;
  for (const Setting& setting : figure.settings) {
    double sum = 0.0;
    for (const Task& task : setting.tasks) {
      std::vector<double> stars = task.train_stars;
      stars.insert(stars.end(), task.test_stars.begin(), task.test_stars.end());
      const double best = highest_of(stars);
      sum += static_cast<double>(std::count(stars.begin(), stars.end(), best)) /
             static_cast<double>(stars.size() * setting.tasks.size());
    }
    shares.push_back(sum);
  }
  report.judge(
      "the share of good movies falls as feedback grows denser (.33 "
      "to .18 in the paper)",
      std::is_sorted(shares.rbegin(), shares.rend()), fmt::format("{:.3f}", fmt::join(shares, ", ")));
}

/// The claims about fig. 7.
void claims_of_feedback(const Figure& figure, Report& report) {
  bool is_vsim_best = true;
  std::vector<std::string> best;
  for (const Measure measure : {kDisagreement, kAveragePrecision, kRankOfTop}) {
    const auto of = [&](Method method) { return figure.mean(0, method, measure); };
    const auto leader = std::max_element(kPaperMethods.begin(), kPaperMethods.end(), [&](Method a, Method b) {
      return gain(measure, of(a), of(b)) < 0.0;
    });
    best.push_back(fmt::format("{}: {} {:.4f}, VSIM {:.4f}", kMeasureNames[measure], method_name(*leader),
                               of(*leader), of(Method::vector_similarity)));
    is_vsim_best = is_vsim_best && *leader == Method::vector_similarity;
  }
  report.judge(
      "with at most 40 movies of feedback VSIM is the best of all on "
      "disagreement, AP and PROT",
      is_vsim_best,
      fmt::format("best on {}; VSIM against RankBoost alone: {}", fmt::join(best, ", on "),
                  wins_over(figure, Method::vector_similarity, Method::rankboost, 0, 0).text()));
  judge(figure,
        {Method::rankboost, Method::vector_similarity, figure.last(), "beyond 100 movies of feedback"},
        report);
  judge(figure, {Method::rankboost, Method::regression, 0, "with at most 40 movies of feedback"}, report);
  const auto at_end = [&](Method method) { return figure.mean(figure.last(), method, kDisagreement); };
  const double vsim = at_end(Method::vector_similarity);
  const double near = at_end(Method::nearest_neighbour);
  const double leader = at_end(Method::rankboost);
  report.judge(
      "beyond 100 movies of feedback VSIM is mediocre, like NN "
      "(nearer to NN's disagreement than to "
      "RankBoost's)",
      std::abs(vsim - near) < std::abs(vsim - leader),
      fmt::format("VSIM {:.4f}, NN {:.4f}, RankBoost {:.4f}", vsim, near, leader));
  const double own = slope(figure, Method::rankboost, kDisagreement);
  report.judge("RankBoost's disagreement improves as feedback grows denser", own > 0.0,
               "by " + fixed(own, 4));
  const double prot = slope(figure, Method::rankboost, kRankOfTop);
  const double highest = best_other_slope(figure, kRankOfTop);
  report.judge(
      "RankBoost's PROT improves as feedback grows denser, the other methods' "
      "degrades",
      prot > 0.0 && highest < 0.0,
      fmt::format("RankBoost gains {:.4f}, the best of VSIM, NN and regression {:.4f}", prot, highest));
  double most = -1.0;
  for (const Method method : kPaperMethods)
    for (const Measure measure : {kAveragePrecision, kCoverage})
      most = std::max(most, slope(figure, method, measure));
  report.judge(
      "AP and coverage of every method, random guessing too, fall as "
      "feedback grows denser",
      most < 0.0, "the least fall is " + fixed(-most, 4));
}

/// Answers the questions of sec. 6.2.6 and 7.
void claims_of_proposals(const Figure& counts, const Figure& bipartite, Report& report) {
  constexpr std::pair<Method, Method> kQuestions[] = {
      {Method::normalised_regression, Method::regression},
      {Method::rankboost, Method::normalised_regression},
      {Method::rankboost, Method::ten_neighbours},
      {Method::rankboost_with_vsim, Method::rankboost},
      {Method::rankboost_with_vsim, Method::vector_similarity}};
  for (const auto& [a, b] : kQuestions) judge(counts, {a, b, 0, "(sec. 6.2.6, a question)"}, report);
  judge(bipartite,
        {Method::rankboost_bipartite, Method::adaboost, 0, "on bipartite feedback (sec. 7, a question)"},
        report);
}

}  // namespace
}  // namespace movies

Result<Report> run_movies(const ExperimentOptions& options) {
  using namespace movies;
  using movies::Method;
  TRY(const auto ratings, read_ratings(with_packing(options.data + "/movielens-100k/u.data")));
  if (ratings.viewer_count() < 900)
    return fail(Code::bad_data, options.data +
                                    "/movielens-100k/u.data: fewer than 900 "
                                    "viewers; use the complete file");
  const Sizes sizes = options.by_size<Sizes>({1, 24}, {5, 100}, {5, 1000});
  std::vector<Figure> figures = draw_figures(ratings, sizes, Random(options.seed));
  Report report{
      fmt::format("Means over targets (in brackets how many) of {} splits; "
                  "half of a target's movies to learn from, half "
                  "to predict.\n\n",
                  sizes.splits)};
  TRY_VOID(measure_figures(figures, ratings, options));
  for (const Figure& figure : figures) describe(figure, report);
  random_guessing_figure(report);
  claims_of_counts(figures[0], report);
  judge_slope(figures[1], report);
  for (std::size_t other = 1; other < kLearners.size(); ++other)
    judge(figures[1], {Method::rankboost, kLearners[other], 0, "at every density of features"}, report);
  claims_of_feedback(figures[2], report);
  judge_good_movies(figures[2], report);
  claims_of_proposals(figures[0], figures[3], report);
  return report;
}

}  // namespace metafuse::lab::experiments
