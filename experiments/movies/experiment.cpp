#include "experiments/movies/experiment.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/parallel.h"
#include "evaluation/significance.h"
#include "evaluation/svg_plot.h"
#include "experiments/interval.h"
#include "experiments/movies/methods.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::movies {
namespace {

/// One point of a figure: some tasks at one setting.
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
  std::vector<Setting> settings;
  std::vector<std::vector<std::vector<Values>>> values;  ///< setting, method, task

  double mean(std::size_t setting, std::size_t method, Measure measure) const {
    double sum = 0.0;
    for (const Values& task : values[setting][method]) sum += task[measure];
    return values[setting][method].empty() ? 0.0 : sum / static_cast<double>(values[setting][method].size());
  }
};

struct Sizes {
  std::size_t splits = 5;
  std::size_t targets = 100;
};

std::vector<std::size_t> shuffled_viewers(const Ratings& ratings, Random random) {
  std::vector<std::size_t> viewers(ratings.viewer_count());
  std::iota(viewers.begin(), viewers.end(), std::size_t{0});
  random.shuffle(viewers);
  return viewers;
}

void add_task(Setting& setting, const Ratings& ratings, const std::vector<std::size_t>& features,
              std::size_t target, Random random) {
  Task task = make_task(ratings, features, target, random);
  if (has_feedback(task)) setting.tasks.push_back(std::move(task));
}

const std::vector<Method> kPaperMethods = {Method::rankboost, Method::vector_similarity,
                                           Method::nearest_neighbour, Method::regression,
                                           Method::random_guessing};

/// Fig. 5: nested feature sets and disjoint targets.
Figure feature_counts(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"number of features", "features", kPaperMethods, {}, {}};
  figure.methods.insert(figure.methods.end(),
                        {Method::normalised_regression, Method::ten_neighbours, Method::rankboost_with_vsim});
  const std::vector<std::size_t> counts = {100, 200, 500, 750};
  for (const std::size_t count : counts)
    figure.settings.push_back({std::to_string(count), static_cast<double>(count), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::size_t end = std::min(viewers.size(), counts.back() + sizes.targets);
    for (std::size_t i = counts.back(); i < end; ++i)
      for (std::size_t c = 0; c < counts.size(); ++c)
        add_task(figure.settings[c], ratings,
                 {viewers.begin(), viewers.begin() + static_cast<std::ptrdiff_t>(counts[c])}, viewers[i],
                 random.split(1000 + split).split(viewers[i]));
  }
  return figure;
}

struct Bin {
  std::size_t least, most;
};
const std::vector<Bin> kBins = {{20, 40}, {41, 60}, {61, 100}, {101, 1000}};

std::vector<std::size_t> in_bin(const Ratings& ratings, const std::vector<std::size_t>& viewers,
                                const Bin& bin) {
  std::vector<std::size_t> chosen;
  for (const std::size_t viewer : viewers)
    if (const std::size_t count = ratings.rated[viewer].size(); count >= bin.least && count <= bin.most)
      chosen.push_back(viewer);
  return chosen;
}

double mean_density(const Ratings& ratings, const std::vector<std::size_t>& viewers) {
  double sum = 0.0;
  for (const std::size_t viewer : viewers) sum += static_cast<double>(ratings.rated[viewer].size());
  return viewers.empty() ? 0.0 : sum / static_cast<double>(viewers.size());
}

std::string label_of(const Bin& bin) {
  return std::to_string(bin.least) + (bin.most >= 1000 ? "+" : "-" + std::to_string(bin.most));
}

/// Fig. 6: 80 features of one density, targets of any.
Figure feature_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of features", "mean number of movies that a feature ranks", kPaperMethods, {}, {}};
  for (const Bin& bin : kBins)
    figure.settings.push_back(
        {label_of(bin), mean_density(ratings, in_bin(ratings, shuffled_viewers(ratings, random), bin)), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const auto cut =
        viewers.begin() + static_cast<std::ptrdiff_t>(std::min(sizes.targets, viewers.size() / 4));
    const std::vector<std::size_t> rest(cut, viewers.end());
    for (std::size_t b = 0; b < kBins.size(); ++b) {
      std::vector<std::size_t> features = in_bin(ratings, rest, kBins[b]);
      features.resize(std::min<std::size_t>(features.size(), 80));
      for (auto target = viewers.begin(); target != cut; ++target)
        add_task(figure.settings[b], ratings, features, *target, random.split(1000 + split).split(*target));
    }
  }
  return figure;
}

/// Fig. 7: 500 features, targets of one density.
Figure feedback_density(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"density of feedback", "mean number of movies that a target ranks", kPaperMethods, {}, {}};
  for (const Bin& bin : kBins)
    figure.settings.push_back(
        {label_of(bin), mean_density(ratings, in_bin(ratings, shuffled_viewers(ratings, random), bin)), {}});
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    const std::vector<std::size_t> features(viewers.begin(), viewers.begin() + 500);
    const std::vector<std::size_t> rest(viewers.begin() + 500, viewers.end());
    for (std::size_t b = 0; b < kBins.size(); ++b) {
      const std::vector<std::size_t> targets = in_bin(ratings, rest, kBins[b]);
      for (std::size_t i = 0; i < std::min(targets.size(), sizes.targets / 2); ++i)
        add_task(figure.settings[b], ratings, features, targets[i],
                 random.split(1000 + split).split(targets[i]));
    }
  }
  return figure;
}

/// Sec. 7: orderings by minimised ranking loss and by minimised classification error.
Figure classification(const Ratings& ratings, const Sizes& sizes, Random random) {
  Figure figure{"bipartite feedback",
                "features",
                {Method::rankboost, Method::rankboost_bipartite, Method::adaboost},
                {{"500", 500.0, {}}},
                {}};
  for (std::size_t split = 0; split < sizes.splits; ++split) {
    const std::vector<std::size_t> viewers = shuffled_viewers(ratings, random.split(split));
    for (std::size_t i = 500; i < std::min(viewers.size(), 500 + sizes.targets); ++i)
      add_task(figure.settings[0], ratings, {viewers.begin(), viewers.begin() + 500}, viewers[i],
               random.split(1000 + split).split(viewers[i]));
  }
  return figure;
}

std::size_t task_count(const Figure& figure) {
  std::size_t count = 0;
  for (const Setting& setting : figure.settings) count += setting.tasks.size();
  return count;
}

Result<void> measure_figure(Figure& figure, const Ratings& ratings, const ExperimentOptions& options,
                            std::atomic<std::size_t>& done, std::size_t total) {
  figure.values.assign(figure.settings.size(), {});
  for (std::size_t s = 0; s < figure.settings.size(); ++s) {
    const std::vector<Task>& tasks = figure.settings[s].tasks;
    std::vector<Result<std::vector<Values>>> results(tasks.size(), std::vector<Values>{});
    parallel_for(tasks.size(), options.threads, [&](std::size_t t) {
      results[t] = run_methods(ratings, tasks[t], figure.methods);
      const std::size_t now = ++done;
      if (options.progress && options.threads <= 1) options.progress(now, total);
    });
    if (options.progress) options.progress(done.load(), total);
    figure.values[s].assign(figure.methods.size(), {});
    for (const auto& result : results) {
      if (!result) return result.error();
      for (std::size_t m = 0; m < figure.methods.size(); ++m) figure.values[s][m].push_back((*result)[m]);
    }
  }
  return {};
}

void describe(const Figure& figure, PaperReport& report) {
  JsonObject json;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    const auto kind = static_cast<Measure>(measure);
    std::vector<std::vector<std::string>> rows = {{figure.name + ": " + kMeasureNames[measure]}};
    std::vector<evaluation::Curve> curves;
    for (const Setting& setting : figure.settings)
      rows[0].push_back(setting.label + " (" + std::to_string(setting.tasks.size()) + ")");
    JsonObject by_method;
    for (std::size_t m = 0; m < figure.methods.size(); ++m) {
      evaluation::Curve curve{method_name(figure.methods[m]), {}, {}};
      rows.push_back({curve.name});
      for (std::size_t s = 0; s < figure.settings.size(); ++s) {
        curve.x.push_back(figure.settings[s].x);
        curve.y.push_back(figure.mean(s, m, kind));
        rows.back().push_back(fixed(curve.y.back(), 4));
      }
      by_method[curve.name] = JsonArray(curve.y.begin(), curve.y.end());
      curves.push_back(std::move(curve));
    }
    report.text += columns(rows);
    json[kMeasureNames[measure]] = std::move(by_method);
    if (figure.settings.size() > 1)
      report.plots.push_back(evaluation::svg_plot(curves, {figure.name + ": " + kMeasureNames[measure],
                                                           figure.x_name, kMeasureNames[measure], false}));
  }
  report.json[figure.name] = std::move(json);
}

std::size_t place_of(const Figure& figure, Method method) {
  return static_cast<std::size_t>(std::find(figure.methods.begin(), figure.methods.end(), method) -
                                  figure.methods.begin());
}

/// In how many of the measures at the settings from `first` on one method beats another in the mean, and with
/// how many of these a paired t test at .05 agrees.
struct Wins {
  std::size_t wins = 0, significant = 0, of = 0;
  std::string text() const {
    return "better in " + std::to_string(wins) + " of " + std::to_string(of) + " means, " +
           std::to_string(significant) + " of them at p < .05, paired t";
  }
};

Wins wins_over(const Figure& figure, Method a, Method b, std::size_t first, std::size_t last) {
  Wins wins;
  const std::size_t left = place_of(figure, a);
  const std::size_t right = place_of(figure, b);
  for (std::size_t s = first; s <= last; ++s)
    for (std::size_t measure = 0; measure < kMeasures; ++measure) {
      const auto kind = static_cast<Measure>(measure);
      ++wins.of;
      if (gain(kind, figure.mean(s, left, kind), figure.mean(s, right, kind)) <= 0.0) continue;
      ++wins.wins;
      std::vector<double> x, y;
      for (const Values& task : figure.values[s][left]) x.push_back(task[measure]);
      for (const Values& task : figure.values[s][right]) y.push_back(task[measure]);
      wins.significant += evaluation::paired_t_test(x, y) < 0.05 ? 1U : 0U;
    }
  return wins;
}

Claim beats(const Figure& figure, Method a, Method b, std::size_t first, std::size_t last,
            const std::string& where) {
  const Wins wins = wins_over(figure, a, b, first, last);
  return judged(method_name(a) + " beats " + method_name(b) + " " + where + " on all four measures",
                wins.wins == wins.of, wins.text());
}

/// By how much a method gains from the first to the last setting.
double slope(const Figure& figure, Method method, Measure measure) {
  const std::size_t m = place_of(figure, method);
  return gain(measure, figure.mean(figure.settings.size() - 1, m, measure), figure.mean(0, m, measure));
}

Claim best_slope(const Figure& figure) {
  std::size_t best = 0;
  std::string evidence;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    const auto kind = static_cast<Measure>(measure);
    const double own = slope(figure, Method::rankboost, kind);
    double other = -1.0;
    for (const Method method : {Method::vector_similarity, Method::nearest_neighbour, Method::regression})
      other = std::max(other, slope(figure, method, kind));
    best += own > other ? 1U : 0U;
    evidence +=
        std::string(kMeasureNames[measure]) + " gains " + fixed(own, 4) + ", next " + fixed(other, 4) + "; ";
  }
  return judged("RankBoost improves most as " + figure.name + " grows", best == kMeasures,
                evidence + "best in " + std::to_string(best) + " of 4");
}

void claims_of_counts(const Figure& figure, PaperReport& report) {
  const std::size_t last = figure.settings.size() - 1;
  report.claims.push_back(
      beats(figure, Method::rankboost, Method::regression, 0, last, "at every number of features"));
  report.claims.push_back(
      beats(figure, Method::rankboost, Method::nearest_neighbour, 0, last, "at every number of features"));
  report.claims.push_back(
      beats(figure, Method::rankboost, Method::vector_similarity, 2, last, "beyond 200 features"));
  report.claims.push_back(best_slope(figure));
  const std::size_t random = place_of(figure, Method::random_guessing);
  const std::size_t nn = place_of(figure, Method::nearest_neighbour);
  const std::size_t regression = place_of(figure, Method::regression);
  std::size_t worse = 0;
  for (std::size_t s = 0; s <= last; ++s)
    worse += figure.mean(s, nn, kRankOfTop) < figure.mean(s, random, kRankOfTop) ? 1U : 0U;
  report.claims.push_back(judged("NN's PROT is worse than random guessing's", worse == last + 1,
                                 "at " + std::to_string(worse) + " of " + std::to_string(last + 1) +
                                     " settings; " + fixed(figure.mean(last, nn, kRankOfTop), 3) +
                                     " against " + fixed(figure.mean(last, random, kRankOfTop), 3) +
                                     " at the last"));
  report.claims.push_back(
      judged("regression's disagreement is little better than random guessing's .5",
             std::abs(figure.mean(last, regression, kDisagreement) - 0.5) < 0.05,
             fixed(figure.mean(last, regression, kDisagreement), 3) + " at the last setting"));
  report.claims.push_back(untestable("the curves beyond 750 features (1000 and 2000)",
                                     "MovieLens 100K has 943 viewers; EachMovie is no longer to be had"));
}

void claims_of_feedback(const Figure& figure, PaperReport& report) {
  const std::size_t last = figure.settings.size() - 1;
  const Wins wins = wins_over(figure, Method::vector_similarity, Method::rankboost, 0, 0);
  report.claims.push_back(
      judged("with at most 40 movies of feedback VSIM is the best of all on disagreement, AP and PROT",
             wins.wins >= 3, "VSIM against RankBoost: " + wins.text()));
  report.claims.push_back(beats(figure, Method::rankboost, Method::vector_similarity, last, last,
                                "beyond 100 movies of feedback"));
  report.claims.push_back(judged("RankBoost's disagreement improves as feedback grows denser",
                                 slope(figure, Method::rankboost, kDisagreement) > 0.0,
                                 "by " + fixed(slope(figure, Method::rankboost, kDisagreement), 4)));
  double most = -1.0;
  for (const Method method : kPaperMethods)
    for (const Measure measure : {kAveragePrecision, kCoverage})
      most = std::max(most, slope(figure, method, measure));
  report.claims.push_back(
      judged("AP and coverage of every method, random guessing too, fall as feedback grows denser",
             most < 0.0, "the least fall is " + fixed(-most, 4)));
}

/// Fig. 8: random guessing has a closed form, eq. (22).
void random_guessing_figure(PaperReport& report) {
  const auto row = [](std::size_t good, std::size_t movies) {
    std::vector<double> grades(movies, 1.0);
    std::fill_n(grades.begin(), good, 2.0);
    return measure(std::vector<double>(movies, 0.0), grades);
  };
  std::vector<std::vector<std::string>> rows = {{"random guessing (fig. 8)", "AP", "PROT", "coverage"}};
  std::vector<evaluation::Curve> by_share(3), by_count(3);
  const auto add = [&](const std::string& label, double x, const Values& values,
                       std::vector<evaluation::Curve>& curves) {
    rows.push_back({label, fixed(values[kAveragePrecision], 4), fixed(values[kRankOfTop], 4),
                    fixed(values[kCoverage], 4)});
    for (std::size_t c = 0; c < 3; ++c) {
      curves[c].name = kMeasureNames[c + 1];
      curves[c].x.push_back(x);
      curves[c].y.push_back(values[c + 1]);
    }
  };
  for (const std::size_t share : {2U, 3U, 4U, 5U})
    add("1/" + std::to_string(share) + " of 60 movies good", 1.0 / static_cast<double>(share),
        row(60 / share, 60), by_share);
  std::vector<Values> counts;
  for (const std::size_t movies : {20U, 40U, 60U, 100U, 200U}) {
    counts.push_back(row(movies / 4, movies));
    add("1/4 of " + std::to_string(movies) + " movies good", static_cast<double>(movies), counts.back(),
        by_count);
  }
  report.text += columns(rows);
  report.plots.push_back(
      evaluation::svg_plot(by_share, {"random guessing, 60 movies", "share of good movies", "value", false}));
  report.plots.push_back(
      evaluation::svg_plot(by_count, {"random guessing, 1/4 good", "movies", "value", false}));
  bool falls = true;
  for (std::size_t c = 1; c < kMeasures; ++c) falls = falls && counts.back()[c] < counts.front()[c];
  report.claims.push_back(judged(
      "random guessing's AP, PROT and coverage fall with the number of movies at a fixed share "
      "of good ones",
      falls,
      "from 20 to 200 movies: AP " + fixed(counts.front()[1], 3) + " to " + fixed(counts.back()[1], 3) +
          ", PROT " + fixed(counts.front()[2], 3) + " to " + fixed(counts.back()[2], 3) + ", coverage " +
          fixed(counts.front()[3], 3) + " to " + fixed(counts.back()[3], 3)));
}

void claims_of_proposals(const Figure& counts, const Figure& bipartite, PaperReport& report) {
  const std::size_t last = counts.settings.size() - 1;
  report.claims.push_back(
      beats(counts, Method::normalised_regression, Method::regression, 0, last, "(sec. 6.2.6, a question)"));
  report.claims.push_back(
      beats(counts, Method::rankboost, Method::normalised_regression, 0, last, "(sec. 6.2.6, a question)"));
  report.claims.push_back(
      beats(counts, Method::rankboost, Method::ten_neighbours, 0, last, "(sec. 6.2.6, a question)"));
  report.claims.push_back(
      beats(counts, Method::rankboost_with_vsim, Method::rankboost, 0, last, "(sec. 6.2.6, a question)"));
  report.claims.push_back(beats(counts, Method::rankboost_with_vsim, Method::vector_similarity, 0, last,
                                "(sec. 6.2.6, a question)"));
  report.claims.push_back(beats(bipartite, Method::rankboost_bipartite, Method::adaboost, 0, 0,
                                "on bipartite feedback (sec. 7, a question)"));
}

}  // namespace

Result<std::string> run_movies(const ExperimentOptions& options) {
  const auto ratings = read_ratings(with_packing(options.data + "/movielens-100k/u.data"));
  if (!ratings) return ratings.error();
  if (ratings->viewer_count() < 900)
    return fail(Code::bad_data,
                options.data + "/movielens-100k/u.data: fewer than 900 viewers; take the whole file");
  Sizes sizes;
  if (options.size == ExperimentOptions::Size::quick) sizes = {1, 24};
  if (options.size == ExperimentOptions::Size::full) sizes = {5, 1000};
  const Random random(options.seed);
  std::vector<Figure> figures = {
      feature_counts(*ratings, sizes, random.split(5)), feature_density(*ratings, sizes, random.split(6)),
      feedback_density(*ratings, sizes, random.split(7)), classification(*ratings, sizes, random.split(8))};
  std::size_t total = 0;
  for (const Figure& figure : figures) total += task_count(figure);
  PaperReport report;
  report.name = "movies";
  report.title = "Movie recommendations (Freund et al. 2003, sec. 6.2) on MovieLens 100K";
  report.text = "Means over targets (in brackets how many) of " + std::to_string(sizes.splits) +
                " splits; half of a target's movies to learn from, half to predict.\n\n";
  std::atomic<std::size_t> done{0};
  for (Figure& figure : figures) {
    if (auto measured = measure_figure(figure, *ratings, options, done, total); !measured)
      return measured.error();
    describe(figure, report);
  }
  random_guessing_figure(report);
  claims_of_counts(figures[0], report);
  report.claims.push_back(best_slope(figures[1]));
  report.claims.push_back(
      beats(figures[1], Method::rankboost, Method::vector_similarity, 0, 3, "at every density of features"));
  claims_of_feedback(figures[2], report);
  claims_of_proposals(figures[0], figures[3], report);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::movies
