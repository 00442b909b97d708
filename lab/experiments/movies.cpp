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

/// One point of a figure: the tasks of one setting.
struct Setting {
  std::string label;
  double x = 0.0;
  std::vector<Task> tasks;
};

/// The values of every method and task at each setting of a figure.
struct Figure {
  std::string name;
  std::string x_name;
  std::vector<Method> methods;
  std::vector<Setting> settings = {};
  std::vector<std::vector<std::vector<Values>>> values = {};  ///< setting, task, method

  std::size_t last() const { return settings.size() - 1; }
  std::size_t place_of(Method method) const {
    return static_cast<std::size_t>(std::find(methods.begin(), methods.end(), method) - methods.begin());
  }
  double mean(std::size_t setting, Method method, Measure measure) const {
    double sum = 0.0;
    for (const auto& task : values[setting]) sum += task[place_of(method)][measure];
    return values[setting].empty() ? 0.0 : sum / static_cast<double>(values[setting].size());
  }
};

struct Sizes {
  std::size_t splits = 5;
  std::size_t targets = 100;
};

const std::vector<Method> kPaperMethods = {Method::rankboost, Method::vector_similarity,
                                           Method::nearest_neighbour, Method::regression,
                                           Method::random_guessing};

std::vector<std::size_t> shuffled_viewers(const Ratings& ratings, Random random) {
  return shuffled(ratings.viewer_count(), random);
}

std::vector<std::size_t> first_of(const std::vector<std::size_t>& viewers, std::size_t count) {
  return {viewers.begin(), viewers.begin() + static_cast<std::ptrdiff_t>(std::min(count, viewers.size()))};
}

/// The viewers after the first `count`.
std::vector<std::size_t> all_after(const std::vector<std::size_t>& viewers, std::size_t count) {
  return {viewers.begin() + static_cast<std::ptrdiff_t>(std::min(count, viewers.size())), viewers.end()};
}

/// Adds a task for the target if it has feedback. Its halves depend only on the split and the target.
void add_task(Setting& setting, const Ratings& ratings, const std::vector<std::size_t>& features,
              std::size_t target, const Random& random, std::size_t split) {
  Task task = make_task(ratings, features, target, random.split(1000 + split).split(target));
  if (has_feedback(task)) setting.tasks.push_back(std::move(task));
}

/// A range for the number of movies that a viewer has rated.
struct Bin {
  const char* label;
  std::size_t least, most;
};
constexpr Bin kBins[] = {{"20-40", 20, 40}, {"41-60", 41, 60}, {"61-100", 61, 100}, {"101+", 101, 1000}};

std::vector<std::size_t> in_bin(const Ratings& ratings, const std::vector<std::size_t>& viewers,
                                const Bin& bin) {
  std::vector<std::size_t> chosen;
  for (const std::size_t viewer : viewers)
    if (const std::size_t count = ratings.rated[viewer].size(); count >= bin.least && count <= bin.most)
      chosen.push_back(viewer);
  return chosen;
}

/// One setting per bin, placed at the mean number of movies that its viewers rated.
std::vector<Setting> density_settings(const Ratings& ratings, Random random) {
  std::vector<Setting> settings;
  for (const Bin& bin : kBins) {
    const auto viewers = in_bin(ratings, shuffled_viewers(ratings, random), bin);
    double sum = 0.0;
    for (const std::size_t viewer : viewers) sum += static_cast<double>(ratings.rated[viewer].size());
    settings.push_back({bin.label, viewers.empty() ? 0.0 : sum / static_cast<double>(viewers.size()), {}});
  }
  return settings;
}

/// Adds one setting per number of features. In each split, the first so many viewers are features, and
/// viewers after the largest of these numbers are targets.
void add_nested_settings(Figure& figure, const Ratings& ratings, const Sizes& sizes, const Random& random,
                         std::span<const std::size_t> counts) {
  const std::size_t most = counts.back();
  for (const std::size_t count : counts)
    figure.settings.push_back({std::to_string(count), static_cast<double>(count), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    for (std::size_t i = most; i < std::min(viewers.size(), most + sizes.targets); ++i)
      for (std::size_t c = 0; c < counts.size(); ++c)
        add_task(figure.settings[c], ratings, first_of(viewers, counts[c]), viewers[i], random, split);
  }
}

/// Fig. 5: nested sets of features, disjoint from the targets.
Figure feature_counts(const Ratings& ratings, const Sizes& sizes, Random random) {
  constexpr std::size_t kCounts[] = {100, 200, 500, 750};
  Figure figure{"number of features", "features", kPaperMethods};
  figure.methods.insert(figure.methods.end(),
                        {Method::normalised_regression, Method::ten_neighbours, Method::rankboost_with_vsim});
  add_nested_settings(figure, ratings, sizes, random, kCounts);
  return figure;
}

/// Fig. 6: 80 features of the same density, targets of any density.
Figure feature_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of features", "mean number of movies that a feature ranks", kPaperMethods,
                density_settings(ratings, random)};
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::vector<std::size_t> targets = first_of(viewers, std::min(sizes.targets, viewers.size() / 4));
    const std::vector<std::size_t> rest = all_after(viewers, targets.size());
    for (std::size_t b = 0; b < std::size(kBins); ++b) {
      const std::vector<std::size_t> features = first_of(in_bin(ratings, rest, kBins[b]), 80);
      for (const std::size_t target : targets)
        add_task(figure.settings[b], ratings, features, target, random, split);
    }
  }
  return figure;
}

/// Fig. 7: 500 features, targets of the same density.
Figure feedback_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of feedback", "mean number of movies that a target ranks", kPaperMethods,
                density_settings(ratings, random)};
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::vector<std::size_t> rest = all_after(viewers, 500);
    for (std::size_t b = 0; b < std::size(kBins); ++b)
      for (const std::size_t target : first_of(in_bin(ratings, rest, kBins[b]), sizes.targets / 2))
        add_task(figure.settings[b], ratings, first_of(viewers, 500), target, random, split);
  }
  return figure;
}

/// Sec. 7: minimising the ranking loss against minimising the classification error.
Figure classification(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{
      "bipartite feedback", "features", {Method::rankboost, Method::rankboost_bipartite, Method::adaboost}};
  constexpr std::size_t kCounts[] = {500};
  add_nested_settings(figure, ratings, sizes, random, kCounts);
  return figure;
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
  JsonObject json;
  JsonArray labels;
  for (const Setting& setting : figure.settings) labels.emplace_back(setting.label);
  json["settings"] = std::move(labels);
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const auto measure = static_cast<Measure>(m);
    const std::string title = figure.name + ": " + kMeasureNames[m];
    Table table{{{title}}};
    std::vector<evaluation::Curve> curves;
    for (const Setting& setting : figure.settings)
      table.rows[0].push_back(fmt::format("{} ({})", setting.label, setting.tasks.size()));
    JsonObject by_method;
    for (const Method method : figure.methods) {
      evaluation::Curve curve{method_name(method), {}, {}};
      for (std::size_t s = 0; s < figure.settings.size(); ++s) {
        curve.x.push_back(figure.settings[s].x);
        curve.y.push_back(figure.mean(s, method, measure));
      }
      table.add(curve.name, curve.y, 4);
      by_method[curve.name] = json_array(curve.y);
      curves.push_back(std::move(curve));
    }
    report.text += table.text();
    json[kMeasureNames[m]] = std::move(by_method);
    if (figure.settings.size() > 1) report.plot(curves, title, figure.x_name, kMeasureNames[m]);
  }
  report.json[figure.name] = std::move(json);
}

/// Fig. 8: random guessing in closed form, eq. (22).
void random_guessing_figure(Report& report) {
  struct Row {
    std::string label;
    double x;
    std::size_t good, movies;
  };
  std::vector<Row> by_share, by_count;
  for (const std::size_t part : {2U, 3U, 4U, 5U})
    by_share.push_back(
        {fmt::format("1/{} of 60 movies good", part), 1.0 / static_cast<double>(part), 60 / part, 60});
  for (const std::size_t movies : {20U, 40U, 60U, 100U, 200U})
    by_count.push_back(
        {fmt::format("1/4 of {} movies good", movies), static_cast<double>(movies), movies / 4, movies});
  Table table{{{"random guessing (fig. 8)", "AP", "PROT", "coverage"}}};
  const auto add = [&](const std::vector<Row>& rows, const std::string& title, const std::string& x_name) {
    std::vector<evaluation::Curve> curves;
    for (std::size_t m = kAveragePrecision; m < kMeasures; ++m) curves.push_back({kMeasureNames[m], {}, {}});
    for (const Row& row : rows) {
      std::vector<double> grades(row.movies, 1.0);
      std::fill_n(grades.begin(), row.good, 2.0);
      const Values values = measure(std::vector<double>(row.movies, 0.0), grades);
      table.add(row.label, std::span(values).subspan(kAveragePrecision), 4);
      for (std::size_t c = 0; c < curves.size(); ++c) {
        curves[c].x.push_back(row.x);
        curves[c].y.push_back(values[c + kAveragePrecision]);
      }
    }
    report.plot(curves, title, x_name, "value");
    return curves;
  };
  add(by_share, "random guessing, 60 movies", "share of good movies");
  const auto curves = add(by_count, "random guessing, 1/4 good", "movies");
  report.text += table.text();
  std::string evidence;
  for (const evaluation::Curve& curve : curves)
    evidence += fmt::format(", {} {:.3f} to {:.3f}", curve.name, curve.y.front(), curve.y.back());
  report.judge(
      "random guessing's AP, PROT and coverage fall with the number of movies at a fixed share of good ones",
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
    for (std::size_t m = 0; m < kMeasures; ++m) {
      const auto measure = static_cast<Measure>(m);
      ++wins.of;
      if (gain(measure, figure.mean(s, a, measure), figure.mean(s, b, measure)) <= 0.0) continue;
      ++wins.wins;
      std::vector<double> x, y;
      for (const auto& task : figure.values[s]) {
        x.push_back(task[figure.place_of(a)][m]);
        y.push_back(task[figure.place_of(b)][m]);
      }
      wins.significant += evaluation::paired_t_test(x, y).value_or(1.0) < 0.05 ? 1U : 0U;
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
  for (const Method method : {Method::vector_similarity, Method::nearest_neighbour, Method::regression})
    best = std::max(best, slope(figure, method, measure));
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
  for (std::size_t m = 0; m < kMeasures; ++m) {
    const auto measure = static_cast<Measure>(m);
    const double own = slope(figure, Method::rankboost, measure);
    const double other = best_other_slope(figure, measure);
    best += own > other ? 1U : 0U;
    evidence += fmt::format("{} gains {:.4f}, next {:.4f}; ", kMeasureNames[m], own, other);
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
  report.judge("the share of good movies falls as feedback grows denser (.33 to .18 in the paper)",
               std::is_sorted(shares.rbegin(), shares.rend()),
               fmt::format("{:.3f}", fmt::join(shares, ", ")));
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
  report.judge("with at most 40 movies of feedback VSIM is the best of all on disagreement, AP and PROT",
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
      "beyond 100 movies of feedback VSIM is mediocre, like NN (nearer to NN's disagreement than to "
      "RankBoost's)",
      std::abs(vsim - near) < std::abs(vsim - leader),
      fmt::format("VSIM {:.4f}, NN {:.4f}, RankBoost {:.4f}", vsim, near, leader));
  const double own = slope(figure, Method::rankboost, kDisagreement);
  report.judge("RankBoost's disagreement improves as feedback grows denser", own > 0.0,
               "by " + fixed(own, 4));
  const double prot = slope(figure, Method::rankboost, kRankOfTop);
  const double highest = best_other_slope(figure, kRankOfTop);
  report.judge(
      "RankBoost's PROT improves as feedback grows denser, the other methods' degrades",
      prot > 0.0 && highest < 0.0,
      fmt::format("RankBoost gains {:.4f}, the best of VSIM, NN and regression {:.4f}", prot, highest));
  double most = -1.0;
  for (const Method method : kPaperMethods)
    for (const Measure measure : {kAveragePrecision, kCoverage})
      most = std::max(most, slope(figure, method, measure));
  report.judge("AP and coverage of every method, random guessing too, fall as feedback grows denser",
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
    return fail(Code::bad_data,
                options.data + "/movielens-100k/u.data: fewer than 900 viewers; use the complete file");
  Sizes sizes;
  if (options.is_quick()) sizes = {1, 24};
  if (options.is_full()) sizes = {5, 1000};
  const Random random(options.seed);
  std::vector<Figure> figures = {
      feature_counts(ratings, sizes, random.split(5)), feature_density(ratings, sizes, random.split(6)),
      feedback_density(ratings, sizes, random.split(7)), classification(ratings, sizes, random.split(8))};
  Report report{fmt::format(
      "Means over targets (in brackets how many) of {} splits; half of a target's movies to learn from, half "
      "to predict.\n\n",
      sizes.splits)};
  TRY_VOID(measure_figures(figures, ratings, options));
  for (const Figure& figure : figures) describe(figure, report);
  random_guessing_figure(report);
  claims_of_counts(figures[0], report);
  judge_slope(figures[1], report);
  for (const Method other : {Method::vector_similarity, Method::nearest_neighbour, Method::regression})
    judge(figures[1], {Method::rankboost, other, 0, "at every density of features"}, report);
  claims_of_feedback(figures[2], report);
  judge_good_movies(figures[2], report);
  claims_of_proposals(figures[0], figures[3], report);
  return report;
}

}  // namespace metafuse::lab::experiments
