// The quality of fused rankings by the number of judged queries (1 to all): `auto`, RankBoost, its bagged
// form and tuned weights against RRF, on MQ2007-agg, MQ2008-agg, TREC-3, TREC-COVID round 1 and, if
// options.data contains packages.txt, the demonstration. Training queries are drawn at random; test queries
// are in no draw; each draw is compared with RRF on the same test queries. Quick: 3 draws of up to 20
// queries. Normal: 10 draws. Full: 30.
#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/random.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace learning_curve {
namespace {

constexpr std::size_t kAll = 0;  // as a number of queries: all but the test queries
constexpr std::array<std::size_t, 9> kCounts = {1, 2, 5, 10, 20, 50, 100, 300, kAll};
constexpr double kTolerance = 0.005;  // no draw should be further below RRF than this

/// The first method is the reference of the others; the last is auto.
const std::array<Method, 5> kMethods = {{{"RRF", "reciprocal-ranks"},
                                         {"tuned weights", "reciprocal-ranks", {{"weights", "tuned"}}},
                                         {"RankBoost", "rankboost"},
                                         {"bagged", "rankboost-bagged", {{"rounds", "50"}}},
                                         {"auto"}}};
constexpr std::size_t kRankBoost = 2;
constexpr std::size_t kAuto = kMethods.size() - 1;

/// The training and test queries of one draw.
Division draw_queries(const JudgedQueries& queries, std::size_t count, std::size_t number,
                      std::uint64_t seed) {
  Division out = divided(queries.part_of, queries.is_part_fixed ? kFifths - 1 : number % kFifths);
  if (count == kAll || count >= out.train.size()) return out;
  Random random = Random(seed).split(1'000'000 * count + number);
  random.shuffle(out.train);
  out.train.resize(count);
  std::sort(out.train.begin(), out.train.end());
  return out;
}

/// The results of every method in one draw.
struct Outcome {
  std::vector<double> values;
  std::vector<double> seconds;
};

/// CPU time of this thread, which does all the training, so other processes do not disturb the measurement.
double seconds_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Result<Outcome> run_draw(const JudgedQueries& queries, Division draw, std::uint64_t seed) {
  Trial trial(queries, std::move(draw), "map", seed);
  trial.request.measure.name = "map";
  Outcome out;
  for (const Method& method : kMethods) {
    const double begin = seconds_of_thread();
    TRY(const auto model, trial.learn_if_accepted(method, trial.train_set));
    out.seconds.push_back(seconds_of_thread() - begin);
    if (!model && (out.values.empty() || method.name == "auto"))
      return fail(Code::bad_data, method.name + " refuses a set of few judged queries");
    // Without a crucial pair there is nothing to learn from; the result is then that of RRF.
    out.values.push_back(model ? trial.value(*model) : out.values.front());
  }
  return out;
}

/// All draws for one number of queries.
struct Point {
  std::size_t queries = 0;
  std::vector<Outcome> draws;

  double value(std::size_t method) const {
    return mean_by(draws, [&](const Outcome& draw) { return draw.values[method]; });
  }
  double seconds(std::size_t method) const {
    return mean_by(draws, [&](const Outcome& draw) { return draw.seconds[method]; });
  }
  /// For each draw, auto's value minus that of RRF.
  std::vector<double> leads() const {
    std::vector<double> out;
    for (const Outcome& draw : draws) out.push_back(draw.values[kAuto] - draw.values[0]);
    return out;
  }
};

Result<std::vector<Point>> curve_of_queries(const JudgedQueries& queries, const ExperimentOptions& options) {
  const std::size_t draws = options.by_size<std::size_t>(3, 10, 30);
  const std::size_t in_last_part =
      static_cast<std::size_t>(std::count(queries.part_of.begin(), queries.part_of.end(), kFifths - 1));
  const std::size_t most = queries.part_of.size() - in_last_part;
  std::vector<Point> points;
  for (const std::size_t count : kCounts) {
    if (count >= most || (options.is_quick() && (count > 20 || count == kAll))) continue;
    const std::size_t needed = count != kAll ? draws : queries.is_part_fixed ? 1 : kFifths;
    TRY(auto outcomes, run_all(needed, options, [&](std::size_t i) {
          return run_draw(queries, draw_queries(queries, count, i, options.seed), options.seed);
        }));
    points.push_back({count == kAll ? most : count, std::move(outcomes)});
  }
  return points;
}

/// Adds the tables of one collection; returns auto's lead over RRF as a curve.
evaluation::Curve describe(const std::string& name, const std::vector<Point>& points, Report& report) {
  Table table{{{name + ": MAP, judged queries"}}};
  for (const Method& method : kMethods) table.rows[0].push_back(method.name);
  for (const char* title : {"auto - RRF", "lowest draw", "time"}) table.rows[0].emplace_back(title);
  evaluation::Curve curve{name, {}, {}};
  for (const Point& point : points) {
    std::vector<std::string> cells{fmt::format("{} (x{})", point.queries, point.draws.size())};
    for (std::size_t m = 0; m < kMethods.size(); ++m) cells.push_back(fixed(point.value(m), 4));
    const std::vector<double> leads = point.leads();
    const Interval lead = interval_of(leads);
    cells.insert(cells.end(),
                 {fmt::format("{:+.4f} ± {:.4f}", lead.mean, lead.half_width), signed_text(least_of(leads)),
                  fmt::format("{:.0f}x", point.seconds(kAuto) / point.seconds(kRankBoost))});
    table.add(std::move(cells));
    curve.x.push_back(static_cast<double>(point.queries));
    curve.y.push_back(lead.mean);
    curve.half_widths.push_back(lead.half_width);
  }
  report.add(table);
  report.text += "\n";
  return curve;
}

void judge(const std::string& name, const std::vector<Point>& points, Report& report) {
  std::vector<double> lowest;
  std::vector<std::string> counts;
  for (const Point& point : points) {
    lowest.push_back(least_of(point.leads()));
    counts.push_back(std::to_string(point.queries));
  }
  report.judge_at_least(name + ": after one judged query auto's mean is not below RRF's",
                        mean_of(points.front().leads()), 0.0);
  report.judge(
      fmt::format("{}: no draw of any number of queries is more than {} below RRF", name, kTolerance),
      least_of(lowest) >= -kTolerance, "lowest draws by queries: " + named(counts, lowest, 4, ": "));
}

}  // namespace
}  // namespace learning_curve

Result<Report> run_learning_curve(const ExperimentOptions& options) {
  using namespace learning_curve;
  Report report{
      "MAP on queries that nothing was learned from; (xN): draws of so many judged queries at random.\n"
      "± is half of the 95 % interval over the draws (Student's t). \"time\": auto's, in RankBoosts of 100 "
      "rounds.\n\n"};
  std::vector<evaluation::Curve> curves;
  TRY_VOID(for_each_set({"MQ2007-agg", "MQ2008-agg", "TREC-3", "TREC-COVID", kHomePages}, options, report,
                        [&](const JudgedQueries& queries) -> Result<void> {
                          TRY(const auto points, curve_of_queries(queries, options));
                          curves.push_back(describe(queries.name, points, report));
                          judge(queries.name, points, report);
                          return {};
                        }));
  report.plot(curves, "Mean average precision ahead of reciprocal rank fusion (RRF)", "judged queries",
              "MAP - RRF", true);
  // A separate picture has no page from which to take its colours.
  const std::string& plot = report.plots.back();
  const std::string alone = R"(<svg style="background:#fff;color:#222")" + plot.substr(plot.find(' '));
  if (!options.output.empty()) TRY_VOID(write_file(options.output + "/learning-curve.svg", alone));
  return report;
}

}  // namespace metafuse::lab::experiments
