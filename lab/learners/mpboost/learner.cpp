#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "core/number.h"
#include "core/text_file.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/common/rounds.h"
#include "lab/learners/common/training.h"
#include "lab/learners/mpboost/boost.h"

namespace metafuse::lab::mpboost {
namespace {

struct DistanceRow {
  Distance kind;
  std::string_view name;
  double parameter;  ///< the default
  std::vector<double> grid;
};

const std::array<DistanceRow, 6>& distance_rows() {
  static const std::array<DistanceRow, 6> rows = {{
      {Distance::binary, "binary", 1.0, {1.0}},
      {Distance::ldd, "ldd", 0.2, {0.05, 0.1, 0.2, 0.35, 0.5}},
      {Distance::logdd, "logdd", 0.35, {0.05, 0.1, 0.2, 0.35, 0.5}},
      {Distance::logitdd, "logitdd", 0.5, {0.25, 0.5, 1.0, 2.0}},
      {Distance::constant, "constant", 0.5, {0.1, 0.2, 0.35, 0.5, 0.7, 1.0}},
      {Distance::table, "table", 1.0, {1.0}},
  }};
  return rows;
}

const DistanceRow& row_of(Distance kind) {
  return *std::find_if(distance_rows().begin(), distance_rows().end(),
                       [kind](const DistanceRow& row) { return row.kind == kind; });
}

/// Evaluates "0.7", or "logdd:0.35" for the difference; 0 or less if the text is neither.
double distance_in(const std::string& text, double difference) {
  double value = 0.0;
  if (to_double(text, value)) return value;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const DistanceRow& row : distance_rows()) {
    if (row.name != name || row.kind == Distance::table) continue;
    double parameter = row.parameter;
    if (colon != std::string::npos && !to_double(text.substr(colon + 1), parameter)) return 0.0;
    return parameter > 0.0 ? directed_distance(row.kind, parameter, difference) : 0.0;
  }
  return 0.0;
}

}  // namespace

double directed_distance(Distance kind, double parameter, double difference) {
  switch (kind) {
    case Distance::ldd:
      return parameter * difference;
    case Distance::logdd:
      return std::log1p(parameter * difference);
    case Distance::logitdd:
      return 1.0 / (1.0 + std::exp(-parameter * difference));
    case Distance::constant:
      return parameter;
    case Distance::binary:
    case Distance::table:
      break;
  }
  return 1.0;
}

double default_parameter(Distance kind) {
  return row_of(kind).parameter;
}

std::vector<double> parameter_grid(Distance kind) {
  return row_of(kind).grid;
}

std::string_view distance_name(Distance kind) {
  return row_of(kind).name;
}

Result<DistanceTable> read_distance_table(const std::string& path) {
  TRY(const auto text, read_text(path, std::size_t{1} << 20));
  DistanceTable table;
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const auto bad = [&](std::string_view what) {
      return fail(Code::bad_data, fmt::format("{}:{}: {}; a line is LOW HIGH DISTANCE, such as 0 2 0.7 or "
                                              "0 2 logdd:0.35",
                                              path, number, what));
    };
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.empty()) continue;
    double low = 0.0;
    double high = 0.0;
    if (fields.size() != 3 || !to_double(fields[0], low) || !to_double(fields[1], high) ||
        !std::isfinite(low) || !std::isfinite(high))
      return bad("expected two grades and a distance");
    if (low >= high) return bad("the first grade must be below the second");
    const double distance = distance_in(fields[2], high - low);
    if (!(distance > 0.0) || !std::isfinite(distance)) return bad("the distance must be above 0");
    if (!table.emplace(std::pair(low, high), distance).second)
      return bad("these two grades already have a distance on an earlier line; remove one of the lines");
  }
  if (table.empty())
    return fail(Code::bad_data, path + ": contains no line with two grades and their distance");
  return table;
}

namespace {

struct Options {
  BoostOptions boost;
  std::optional<double> parameter;  ///< absent: the default, or the best of a grid on validation data
};

Result<void> read_distance(const std::string& given, BoostOptions& options) {
  constexpr std::string_view kTable = "table:";
  if (given.starts_with(kTable)) {
    TRY(auto distances, read_distance_table(given.substr(kTable.size())));
    options.distance = Distance::table;
    options.table = std::make_shared<const DistanceTable>(std::move(distances));
    return {};
  }
  for (const DistanceRow& row : distance_rows())
    if (given == row.name && row.kind != Distance::table) {
      options.distance = row.kind;
      return {};
    }
  return refused_option("distance", given, "one of logitdd, logdd, ldd, constant, binary, table:FILE");
}

void declare_options(OptionTable& table, Options& options) {
  table.custom(
      {"distance", "logitdd|logdd|ldd|constant|binary|table:FILE", "logitdd",
       "directed distance between two grades, eqs. (2), (6)-(8), or a file with lines LOW HIGH DISTANCE"},
      [&options](const std::string& given) { return read_distance(given, options.boost); });
  table.number_or_none(
      "parameter", options.parameter, 1e-6, 1e6,
      "beta, lambda, alpha or the constant of the distance; with validation data, chosen from a grid",
      "0.5, 0.35, 0.2, 0.5");
  table.number("shrinkage", options.boost.shrinkage, 1e-6, 1.0, "share of each step that is taken");
  table.count("rounds", options.boost.rounds, 1, 1'000'000,
              "rounds of boosting; with validation data, the best number up to this");
  table.count_or_all("max-thresholds", options.boost.max_thresholds, 1, 1'000'000'000,
                     "thresholds per feature");
  table.count("memory", options.boost.memory_mb, 16, 1 << 20,
              "memory limit for the pairs of real-valued grades; training is refused if they need more",
              "MB");
}

void put_losses(const BoostRound& round, JsonObject& object) {
  object["loss"] = round.loss;
  object["misordered"] = round.misordered;
  object["ranking_loss"] = round.ranking_loss;
}

void add_to_trace_line(const BoostRound& round, JsonObject& line) {
  line["z"] = round.z;
  line["bound"] = round.loss;
  put_losses(round, line);
}

bool has_parameter(Distance kind) {
  return kind != Distance::binary && kind != Distance::table;
}

std::string summarise(const Options& options, const BoostRun& run) {
  std::string text = fmt::format("MPBoost, {}", distance_name(options.boost.distance));
  if (has_parameter(options.boost.distance)) text += fmt::format(" parameter {:g}", options.boost.parameter);
  text +=
      fmt::format(": {} rounds over {} crucial pairs{}; {}\nmean |dist| {:g}", run.rounds.size(),
                  run.pair_count, run.is_by_pairs ? ", one by one" : "", run.stop_reason, run.mean_distance);
  if (run.mean_distance > 1.0) text += " (above 1, against condition (9))";
  if (run.halvings > 0)
    text += fmt::format("; steps that would have raised the loss were halved {} times", run.halvings);
  if (!run.rounds.empty())
    text += fmt::format("; loss and bound {:g}, misordered {:g}, ranking loss {:g}", run.rounds.back().loss,
                        run.rounds.back().misordered, run.rounds.back().ranking_loss);
  return text + "\n";
}

JsonObject training_record(const Options& options, const BoostRun& run) {
  JsonObject record;
  record["distance"] = std::string(distance_name(options.boost.distance));
  if (has_parameter(options.boost.distance)) record["parameter"] = options.boost.parameter;
  if (options.boost.table != nullptr) {
    JsonArray distances;
    for (const auto& [grades, distance] : *options.boost.table)
      distances.push_back(JsonArray{grades.first, grades.second, distance});
    record["distances"] = std::move(distances);
  }
  if (options.boost.shrinkage != 1.0) record["shrinkage"] = options.boost.shrinkage;
  if (run.halvings > 0) record["halvings"] = run.halvings;
  record["rounds"] = run.rounds.size();
  record["crucial_pairs"] = run.pair_count;
  record["mean_distance"] = run.mean_distance;
  record["stopped"] = run.stop_reason;
  if (!run.rounds.empty()) put_losses(run.rounds.back(), record);
  return record;
}

Result<BoostRun> run_training(const TrainingRequest& request, Options& options, JsonObject& chosen) {
  if (request.validate != nullptr) {
    const auto grid =
        options.parameter ? std::vector{*options.parameter} : parameter_grid(options.boost.distance);
    TRY(auto selection, select_on_validation(*request.train, *request.validate, options.boost, grid));
    options.boost.parameter = selection.parameter;
    if (selection.validation_ndcg) chosen["validation_ndcg_5"] = *selection.validation_ndcg;
    return std::move(selection.run);
  }
  std::size_t done = 0;
  return boost_stumps(*request.train, options.boost, [&](const BoostRound&) {
    if (request.progress) request.progress(++done, options.boost.rounds);
    return true;
  });
}

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(auto options, read_options<Options>(request.options));
  TRY_VOID(
      refuse_unread(request.options, {{"parameter", has_parameter(options.boost.distance),
                                       "a --distance with a parameter: logitdd, logdd, ldd or constant"}}));
  options.boost.threads = request.threads;
  options.boost.parameter = options.parameter.value_or(default_parameter(options.boost.distance));
  JsonObject chosen;
  TRY(const auto run, run_training(request, options, chosen));
  if (request.progress) request.progress(options.boost.rounds, options.boost.rounds);
  std::vector<WeakRanking> rankings;
  for (const BoostRound& round : run.rounds) rankings.push_back(round.weak_ranking);
  JsonObject record = training_record(options, run);
  for (const auto& field : chosen) record[field.key()] = field.value();
  return step_result("mpboost", request, std::move(rankings), std::move(record), summarise(options, run),
                     [&](std::size_t t, JsonObject& line) { add_to_trace_line(run.rounds[t], line); });
}

}  // namespace

Learner learner() {
  return {.name = "mpboost",
          .meaning = "boosting that keeps how far apart two grades are",
          .source = "Zhu, Chen, Zhu, Wang, Wang, Chen 2009",
          .options = option_rows<Options>(),
          .train = train,
          .can = {.validate = true}};
}

}  // namespace metafuse::lab::mpboost
