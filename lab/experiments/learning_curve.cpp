// The quality of fused rankings by the number of judged queries (1 to all): `auto`, RankBoost, its bagged
// form and tuned weights against RRF, on MQ2007-agg, MQ2008-agg, TREC-3, TREC-COVID round 1 and, if
// options.data contains packages.txt, the demonstration. Training queries are drawn at random; test queries
// are in no draw; each draw is compared with RRF on the same test queries. Quick: 3 draws of up to 20
// queries. Normal: 10 draws. Full: 30. With options.output, a run continues where an earlier one in that
// folder stopped.
#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text_file.h"
#include "evaluation/significance/significance.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace learning_curve {
namespace {

constexpr std::size_t kAll = 0;  // as a number of queries: all but the test queries
constexpr std::array<std::size_t, 9> kCounts = {1, 2, 5, 10, 20, 50, 100, 300, kAll};
constexpr double kTolerance = 0.005;  // a draw further below RRF than this counts as a loss

struct Method {
  std::string name;
  std::string learner;
  std::map<std::string, std::string> options;
};

/// The first method is the reference of the others; the last is auto.
std::vector<Method> methods() {
  return {{"RRF", "reciprocal-ranks", {}},
          {"tuned weights", "reciprocal-ranks", {{"weights", "tuned"}}},
          {"RankBoost", "rankboost", {}},
          {"bagged", "rankboost-bagged", {{"rounds", "50"}}},
          {"auto", "auto", {}}};
}

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
  std::vector<double> values;  ///< per method
  std::string chosen;          ///< what auto chose
  double seconds_of_auto = 0.0;
  double seconds_of_rankboost = 0.0;
};

/// CPU time of this thread, which does all the training, so other processes do not disturb the measurement.
double seconds_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Result<Outcome> run_draw(const JudgedQueries& queries, const Division& draw,
                         const evaluation::MeasureSet& measures, std::uint64_t seed) {
  const fusion::TrainingSet train_set = fusion::select_queries(queries.set, draw.train);
  const fusion::TrainingSet test_set = fusion::select_queries(queries.set, draw.test);
  Outcome out;
  for (const Method& method : methods()) {
    fusion::TrainingRequest request;
    request.seed = seed;
    request.measure.name = "map";
    const double begin = seconds_of_thread();
    const auto model = train(method.learner, train_set, method.options, request);
    const double seconds = seconds_of_thread() - begin;
    if (method.learner == "auto") {
      if (!model) return model.error();
      out.chosen = std::string(model->training.at("auto").at("chosen").as_string());
      out.seconds_of_auto = seconds;
    }
    if (method.learner == "rankboost") out.seconds_of_rankboost = seconds;
    // Without a crucial pair there is nothing to learn from; the result is then that of RRF.
    out.values.push_back(model ? mean_of(values_of(queries, draw.test, test_set,
                                                   model->ranker->score(test_set.matrix), measures))
                               : out.values.front());
  }
  return out;
}

/// The finished draws, one JSON line each, so that an interrupted run can continue where it stopped.
class DrawLog {
 public:
  /// in:     folder - the output folder; empty: nothing is kept
  /// errors: those of reading; bad_data for a line that this experiment did not write
  static Result<std::unique_ptr<DrawLog>> open(const std::string& folder) {
    auto log = std::make_unique<DrawLog>();
    if (folder.empty()) return log;
    log->path_ = folder + "/learning-curve.draws.jsonl";
    if (!std::filesystem::exists(log->path_)) return log;
    TRY(log->text_, read_text(log->path_, kMostLogBytes));
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < log->text_.size();) {
      const std::size_t end = std::min(log->text_.find('\n', begin), log->text_.size());
      const std::string place = fmt::format("{}:{}", log->path_, ++number);
      TRY(const auto line, parse_json(log->text_.substr(begin, end - begin), place));
      TRY_VOID(log->take(line, place));
      begin = end + 1;
    }
    return log;
  }

  std::optional<Outcome> find(const std::string& draw) {
    const std::lock_guard lock(mutex_);
    const auto found = done_.find(draw);
    return found == done_.end() ? std::nullopt : std::optional<Outcome>(found->second);
  }

  Result<void> add(const std::string& draw, const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    if (path_.empty()) return {};
    text_ += metafuse::to_text(JsonObject{{"draw", draw},
                                          {"map", json_array(outcome.values)},
                                          {"chosen", outcome.chosen},
                                          {"auto_seconds", outcome.seconds_of_auto},
                                          {"rankboost_seconds", outcome.seconds_of_rankboost}}) +
             "\n";
    return write_file(path_, text_);
  }

 private:
  static constexpr std::size_t kMostLogBytes = std::size_t{64} << 20;

  Result<void> take(const Json& line, const std::string& place) {
    const auto member = [&](std::string_view key) {
      const Json* value = line.is_object() ? line.get_object().if_contains(key) : nullptr;
      return value != nullptr ? *value : Json();
    };
    const auto number = [](const Json& value, double fallback) {
      return value.is_number() ? value.to_number<double>() : fallback;
    };
    Outcome outcome;
    outcome.seconds_of_auto = number(member("auto_seconds"), -1.0);
    outcome.seconds_of_rankboost = number(member("rankboost_seconds"), -1.0);
    const Json draw = member("draw");
    const Json chosen = member("chosen");
    const Json values = member("map");
    if (!draw.is_string() || !chosen.is_string() || !values.is_array() || outcome.seconds_of_auto < 0.0 ||
        outcome.seconds_of_rankboost < 0.0 || values.get_array().size() != methods().size())
      return fail(Code::bad_data, place + ": not a draw of this experiment; remove the file to start over");
    for (const Json& value : values.get_array()) outcome.values.push_back(number(value, 0.0));
    outcome.chosen = chosen.get_string();
    done_[std::string(draw.get_string())] = std::move(outcome);
    return {};
  }

  std::string path_;
  std::string text_;
  std::map<std::string, Outcome> done_;
  std::mutex mutex_;
};

/// All draws for one number of queries.
struct Point {
  std::size_t queries = 0;
  std::vector<Outcome> draws;

  std::vector<double> values(std::size_t method) const {
    std::vector<double> out;
    for (const Outcome& draw : draws) out.push_back(draw.values[method]);
    return out;
  }
  /// For each draw, its value minus that of the first method.
  std::vector<double> leads(std::size_t method) const {
    std::vector<double> out;
    for (const Outcome& draw : draws) out.push_back(draw.values[method] - draw.values[0]);
    return out;
  }
};

Result<std::vector<Point>> curve_of_queries(const JudgedQueries& queries, DrawLog& log,
                                            const ExperimentOptions& options) {
  const std::size_t draws = options.is_quick() ? 3 : options.is_full() ? 30 : 10;
  const std::size_t in_last_part =
      static_cast<std::size_t>(std::count(queries.part_of.begin(), queries.part_of.end(), kFifths - 1));
  const std::size_t most = queries.part_of.size() - in_last_part;
  TRY(const auto measures, evaluation::parse_measures("map"));
  std::vector<Point> points;
  for (const std::size_t count : kCounts) {
    if (count >= most || (options.is_quick() && (count > 20 || count == kAll))) continue;
    const std::size_t needed = count != kAll ? draws : queries.is_part_fixed ? 1 : kFifths;
    TRY(auto outcomes,
        run_all(needed, options.threads, options.progress, [&](std::size_t i) -> Result<Outcome> {
          const std::string draw =
              fmt::format("{}, {} queries, draw {}, seed {}", queries.name, count, i, options.seed);
          if (auto done = log.find(draw)) return std::move(*done);
          TRY(auto outcome,
              run_draw(queries, draw_queries(queries, count, i, options.seed), measures, options.seed));
          TRY_VOID(log.add(draw, outcome));
          return outcome;
        }));
    points.push_back({count == kAll ? most : count, std::move(outcomes)});
  }
  return points;
}

/// What auto chose, the most frequent choice first: "RRF (7); RankBoost 3.cum, 50 rounds (3)".
std::string choices_of(const Point& point) {
  std::map<std::string, std::size_t> counts;
  for (const Outcome& draw : point.draws) ++counts[draw.chosen];
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [name, count] : sorted)
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", name, count);
  return out;
}

JsonObject json_of(const Point& point) {
  const auto all = methods();
  JsonObject values;
  for (std::size_t m = 0; m < all.size(); ++m) values[all[m].name] = json_array(point.values(m));
  JsonArray chosen;
  for (const Outcome& draw : point.draws) chosen.emplace_back(draw.chosen);
  return {{"queries", point.queries}, {"map", std::move(values)}, {"chosen", std::move(chosen)}};
}

/// Adds the tables of one collection; returns auto's lead over RRF as a curve.
evaluation::Curve describe(const std::string& name, const std::vector<Point>& points, PaperReport& report) {
  const auto all = methods();
  const std::size_t last = all.size() - 1;
  Table table{{{name + ": MAP, judged queries"}}};
  for (const Method& method : all) table.rows[0].push_back(method.name);
  for (const char* title : {"auto - RRF", "lowest draw", "draws below", "time"})
    table.rows[0].emplace_back(title);
  evaluation::Curve curve{name, {}, {}};
  JsonArray json;
  std::string chosen;
  for (const Point& point : points) {
    std::vector<std::string> cells{fmt::format("{} (x{})", point.queries, point.draws.size())};
    for (std::size_t m = 0; m < all.size(); ++m) cells.push_back(fixed(mean_of(point.values(m)), 4));
    const std::vector<double> leads = point.leads(last);
    const Interval lead = interval_of(leads);
    cells.push_back(fmt::format("{:+.4f} ± {:.4f}", lead.mean, lead.half_width));
    cells.push_back(fmt::format("{:+.4f}", *std::min_element(leads.begin(), leads.end())));
    cells.push_back(std::to_string(
        std::count_if(leads.begin(), leads.end(), [](double each) { return each < -kTolerance; })));
    double own = 0.0;
    double one = 0.0;
    for (const Outcome& draw : point.draws) {
      own += draw.seconds_of_auto;
      one += draw.seconds_of_rankboost;
    }
    cells.push_back(fmt::format("{:.0f}x", own / one));
    table.add(std::move(cells));
    curve.x.push_back(static_cast<double>(point.queries));
    curve.y.push_back(lead.mean);
    curve.half_widths.push_back(lead.half_width);
    json.push_back(json_of(point));
    chosen += fmt::format("  {}: {}\n", point.queries, choices_of(point));
  }
  report.text += table.text() + "auto chose, by judged queries:\n" + chosen + "\n";
  report.json[name] = std::move(json);
  return curve;
}

void judge(const std::string& name, const std::vector<Point>& points, PaperReport& report) {
  const std::size_t last = methods().size() - 1;
  std::vector<double> lowest;
  std::vector<std::string> counts;
  for (const Point& point : points) {
    const auto leads = point.leads(last);
    lowest.push_back(*std::min_element(leads.begin(), leads.end()));
    counts.push_back(std::to_string(point.queries));
  }
  const double first = mean_of(points.front().leads(last));
  report.judge(name + ": after one judged query auto's mean is not below RRF's", first >= 0.0,
               fmt::format("{:+.4f}", first));
  report.judge(
      fmt::format("{}: no draw of any number of queries is more than {} below RRF", name, kTolerance),
      *std::min_element(lowest.begin(), lowest.end()) >= -kTolerance,
      "lowest draws by queries: " + named(counts, lowest, 4, ": "));
}

}  // namespace
}  // namespace learning_curve

Result<std::string> run_learning_curve(const ExperimentOptions& options) {
  using namespace learning_curve;
  if (options.data.empty()) return fail(Code::usage, "give --data DIR, the folder of the data sets");
  PaperReport report{
      "learning-curve", "What judged queries are worth",
      "MAP on queries that nothing was learned from; (xN): draws of so many judged queries at random.\n"
      "± is half of the 95 % interval over the draws (Student's t). \"time\": auto's, in RankBoosts of 100 "
      "rounds.\n\n"};
  std::vector<evaluation::Curve> curves;
  TRY(const auto log, DrawLog::open(options.output));
  const auto add = [&](Result<JudgedQueries> read) -> Result<void> {
    TRY(const auto queries, std::move(read));
    TRY(const auto points, curve_of_queries(queries, *log, options));
    curves.push_back(describe(queries.name, points, report));
    judge(queries.name, points, report);
    return {};
  };
  TRY_VOID(add(read_aggregation(options.data, "MQ2007-agg")));
  TRY_VOID(add(read_aggregation(options.data, "MQ2008-agg")));
  TRY_VOID(add(judged_runs(read_trec3(options.data), options.seed)));
  TRY_VOID(add(judged_runs(read_covid_round1(options.data), options.seed)));
  if (has_demonstration(options, report)) TRY_VOID(add(record_demonstration(options, options.seed + 1)));
  const std::string plot = evaluation::svg_plot(
      curves,
      {"Mean average precision ahead of reciprocal rank fusion (RRF)", "judged queries", "MAP - RRF", true});
  report.plots.push_back(plot);
  // A separate picture has no page from which to take its colours.
  const std::string alone = R"(<svg style="background:#fff;color:#222")" + plot.substr(plot.find(' '));
  if (!options.output.empty()) TRY_VOID(write_file(options.output + "/learning-curve.svg", alone));
  return deliver(std::move(report), options);
}

}  // namespace metafuse::lab::experiments
