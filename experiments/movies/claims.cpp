#include "experiments/movies/claims.h"

#include <algorithm>
#include <cmath>

#include "evaluation/significance/significance.h"
#include "experiments/interval.h"

namespace metafuse::experiments::movies {
namespace {

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

/// By how much a method gains from the first to the last setting.
double slope(const Figure& figure, Method method, Measure measure) {
  const std::size_t m = place_of(figure, method);
  return gain(measure, figure.mean(figure.settings.size() - 1, m, measure), figure.mean(0, m, measure));
}

}  // namespace

Claim beats(const Figure& figure, Method a, Method b, std::size_t first, std::size_t last,
            const std::string& where) {
  const Wins wins = wins_over(figure, a, b, first, last);
  return judged(method_name(a) + " beats " + method_name(b) + " " + where + " on all four measures",
                wins.wins == wins.of, wins.text());
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
  for (const Method method : paper_methods())
    for (const Measure measure : {kAveragePrecision, kCoverage})
      most = std::max(most, slope(figure, method, measure));
  report.claims.push_back(
      judged("AP and coverage of every method, random guessing too, fall as feedback grows denser",
             most < 0.0, "the least fall is " + fixed(-most, 4)));
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

}  // namespace metafuse::experiments::movies
