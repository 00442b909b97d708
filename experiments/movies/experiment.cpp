#include "experiments/movies/experiment.h"

#include <algorithm>

#include "evaluation/reports/svg_plot.h"
#include "experiments/interval.h"
#include "experiments/movies/claims.h"
#include "experiments/movies/figure.h"
#include "experiments/paper_report.h"
#include "experiments/split.h"

namespace metafuse::experiments::movies {
namespace {

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

}  // namespace

Result<std::string> run_movies(const ExperimentOptions& options) {
  TRY(const auto ratings, read_ratings(with_packing(options.data + "/movielens-100k/u.data")));
  if (ratings.viewer_count() < 900)
    return fail(Code::bad_data,
                options.data + "/movielens-100k/u.data: fewer than 900 viewers; take the whole file");
  Sizes sizes;
  if (options.size == ExperimentOptions::Size::quick) sizes = {1, 24};
  if (options.size == ExperimentOptions::Size::full) sizes = {5, 1000};
  const Random random(options.seed);
  std::vector<Figure> figures = {
      feature_counts(ratings, sizes, random.split(5)), feature_density(ratings, sizes, random.split(6)),
      feedback_density(ratings, sizes, random.split(7)), classification(ratings, sizes, random.split(8))};
  std::size_t total = 0;
  for (const Figure& figure : figures) total += task_count(figure);
  PaperReport report;
  report.name = "movies";
  report.title = "Movie recommendations (Freund et al. 2003, sec. 6.2) on MovieLens 100K";
  report.text = "Means over targets (in brackets how many) of " + std::to_string(sizes.splits) +
                " splits; half of a target's movies to learn from, half to predict.\n\n";
  ProgressCounter progress(options.progress, total);
  for (Figure& figure : figures) {
    TRY_VOID(measure_figure(figure, ratings, options.threads, progress));
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
