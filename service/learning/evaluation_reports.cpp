#include "service/learning/evaluation_reports.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/json_members.h"
#include "core/text_file.h"

namespace metafuse::service {

Spread spread_of(const std::vector<double>& values) {
  Spread out;
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / n;
  double squares = 0.0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  if (values.size() > 1) out.half_width = 1.96 * std::sqrt(squares / (n - 1) / n);
  return out;
}

namespace {

constexpr std::size_t kMaxReportBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxRounds = 100'000;

Error bad_report(const std::string& file, const std::string& what) {
  return fail(Code::bad_data,
              file + ": " + what + "; write the report again with metafuse crossvalidate --json");
}

Result<ReportedMethod> read_method(const Json& value, const std::string& file) {
  const JsonMembers members(value);
  const auto* name = members.text("name");
  const Json* average = members.number("average_rank");
  const JsonArray* ranks = members.array("best_rank");
  if (name == nullptr || average == nullptr || ranks == nullptr)
    return bad_report(file, "a method lacks \"name\", \"average_rank\" or \"best_rank\"");
  ReportedMethod method{std::string(*name), {}, average->to_number<double>()};
  for (const Json& rank : *ranks) {
    if (!rank.is_int64() || rank.get_int64() < 1 || rank.get_int64() > 1'000'000)
      return bad_report(file, "a rank in \"best_rank\" is not a whole number of at least 1");
    method.best_rank.push_back(static_cast<int>(rank.get_int64()));
  }
  return method;
}

Result<void> read_methods(const JsonMembers& root, const char* key, const std::string& file,
                          std::vector<ReportedMethod>& out) {
  const JsonArray* list = root.array(key);
  if (list == nullptr) return bad_report(file, "\"" + std::string(key) + "\" is not a list");
  for (const Json& item : *list) {
    TRY(auto method, read_method(item, file));
    out.push_back(std::move(method));
  }
  return {};
}

/// Checks that every method has a rank for every query.
Result<void> check_sizes(const EvaluationReport& report, const std::string& file) {
  const auto fits = [&](const ReportedMethod& method) {
    return method.best_rank.size() == report.queries.size();
  };
  if (fits(report.learner) && std::all_of(report.baselines.begin(), report.baselines.end(), fits) &&
      std::all_of(report.features.begin(), report.features.end(), fits))
    return {};
  return bad_report(file, "a method does not have one rank for each query");
}

Result<void> read_table(const std::string& file, EvaluationReport& report) {
  TRY(auto text, read_text(file, kMaxReportBytes));
  TRY(const auto json, parse_json(text, file));
  const JsonMembers root(json);
  const JsonArray* queries = root.array("queries");
  if (queries == nullptr) return bad_report(file, "\"queries\" is not a list");
  for (const Json& query : *queries) {
    if (!query.is_string()) return bad_report(file, "a query id is not a string");
    report.queries.emplace_back(query.get_string());
  }
  if (const auto* depth = root.integer("depth"))
    report.depth = static_cast<int>(std::clamp<std::int64_t>(*depth, 1, 1'000'000));
  const Json none;
  const Json* learner = root.find("learner");
  TRY(report.learner, read_method(learner == nullptr ? none : *learner, file));
  TRY_VOID(read_methods(root, "baselines", file, report.baselines));
  TRY_VOID(read_methods(root, "features", file, report.features));
  return check_sizes(report, file);
}

Result<void> read_trace(const std::string& file, EvaluationReport& report) {
  return for_each_line(file, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.empty() || report.rounds.size() >= kMaxRounds) return {};
    TRY(auto value, parse_json(line, file, Code::bad_data, {.first_line = number}));
    const JsonMembers members(value);
    const Json* round = members.number("round");
    const Json* loss = members.number("ranking_loss");
    const Json* bound = members.number("bound");
    if (round == nullptr || loss == nullptr || bound == nullptr)
      return fail(Code::bad_data,
                  file + ":" + std::to_string(number) +
                      ": a round lacks \"round\", \"ranking_loss\" or \"bound\"; write the trace again "
                      "with metafuse train --trace");
    report.rounds.push_back(
        {round->to_number<double>(), loss->to_number<double>(), bound->to_number<double>()});
    return {};
  });
}

constexpr std::size_t kMostPoints = 1000;
constexpr std::size_t kMostWords = 20000;

/// Adds the values of several draws at one number of queries to the method's line.
void add_point(ReportedCurves& curves, std::string_view name, double queries, const JsonArray& draws) {
  std::vector<double> values;
  for (const Json& draw : draws)
    if (draw.is_number()) values.push_back(draw.to_number<double>());
  if (values.empty()) return;
  auto line = std::find_if(curves.lines.begin(), curves.lines.end(),
                           [&](const ReportedCurves::Line& one) { return one.name == name; });
  if (line == curves.lines.end()) line = curves.lines.insert(line, {std::string(name), {}, {}, {}});
  const Spread spread = spread_of(values);
  line->queries.push_back(queries);
  line->means.push_back(spread.mean);
  line->half_widths.push_back(spread.half_width);
}

/// {"COLLECTION":[{"queries":N,"map":{"METHOD":[value of each draw]}}]}; Other members are ignored.
Result<void> read_curves(const std::string& file, EvaluationReport& report) {
  TRY(auto text, read_text(file, kMaxReportBytes));
  TRY(auto root, parse_json(text, file));
  if (!root.is_object())
    return fail(Code::bad_data,
                file + ": not an object; write it with metafuse-lab experiment learning-curve");
  for (const auto& [collection, points] : root.as_object()) {
    if (!points.is_array() || points.as_array().size() > kMostPoints) continue;
    ReportedCurves curves{std::string(collection), {}};
    for (const Json& point : points.as_array()) {
      const JsonMembers members(point);
      const Json* queries = members.number("queries");
      const JsonObject* map = members.object("map");
      if (queries == nullptr || map == nullptr) continue;
      for (const auto& [name, draws] : *map)
        if (draws.is_array() && queries->to_number<double>() > 0)
          add_point(curves, name, queries->to_number<double>(), draws.as_array());
    }
    if (!curves.lines.empty()) report.curves.push_back(std::move(curves));
  }
  return {};
}

Result<void> read_words(const std::string& file, EvaluationReport& report) {
  return for_each_line(file, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.empty() || report.words.size() >= kMostWords) return {};
    TRY(const Json json, parse_json(line, file, Code::bad_data, {.first_line = number}));
    const JsonMembers members(json);
    const auto* id = members.text("id");
    const JsonObject* slots = members.object("slots");
    if (id == nullptr || slots == nullptr)
      return fail(Code::bad_data,
                  file + ":" + std::to_string(number) + ": not an object of \"id\" and \"slots\"");
    BaseQuery& query = report.words[std::string(*id)];
    for (const auto& [name, value] : *slots)
      if (value.is_string()) query.slots[std::string(name)] = std::string(value.get_string());
    return {};
  });
}

JsonArray curves_json(const std::vector<ReportedCurves>& all) {
  JsonArray out;
  for (const ReportedCurves& curves : all) {
    JsonArray lines;
    for (const ReportedCurves::Line& line : curves.lines)
      lines.push_back(
          JsonObject{{"name", line.name},
                     {"queries", JsonArray(line.queries.begin(), line.queries.end())},
                     {"means", JsonArray(line.means.begin(), line.means.end())},
                     {"half_widths", JsonArray(line.half_widths.begin(), line.half_widths.end())}});
    out.push_back(JsonObject{{"collection", curves.collection}, {"lines", std::move(lines)}});
  }
  return out;
}

JsonObject method_json(const ReportedMethod& method) {
  return {{"name", method.name},
          {"average_rank", method.average_rank},
          {"best_rank", JsonArray(method.best_rank.begin(), method.best_rank.end())}};
}

JsonArray methods_json(const std::vector<ReportedMethod>& methods) {
  JsonArray out;
  for (const ReportedMethod& method : methods) out.push_back(method_json(method));
  return out;
}

/// A text that changes whenever the file is written or replaced; empty if there is no file.
std::string identity_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

struct ReportFile {
  const char* ending;
  Result<void> (*read)(const std::string& file, EvaluationReport& report);
};
constexpr ReportFile kReportFiles[] = {{"crossvalidation.json", read_table},
                                       {"trace.jsonl", read_trace},
                                       {"learning-curve.json", read_curves},
                                       {"queries.jsonl", read_words}};

std::string path_of(const ReportFile& file, const std::string& folder, std::string_view domain) {
  return fmt::format("{}/{}.{}", folder, domain, file.ending);
}

}  // namespace

std::size_t ReportedMethod::top(int k) const {
  return static_cast<std::size_t>(
      std::count_if(best_rank.begin(), best_rank.end(), [&](int rank) { return rank <= k; }));
}

Result<EvaluationReport> read_evaluation_report(const std::string& folder, std::string_view domain) {
  EvaluationReport report;
  if (folder.empty()) return report;
  for (const ReportFile& one : kReportFiles)
    if (const std::string file = path_of(one, folder, domain); std::filesystem::exists(file))
      TRY_VOID(one.read(file, report));
  return report;
}

Result<std::shared_ptr<const EvaluationReport>> EvaluationReports::read(const std::string& folder,
                                                                        std::string_view domain) {
  const std::lock_guard lock(mutex_);
  const std::string key = fmt::format("{}/{}", folder, domain);
  std::string files;
  for (const ReportFile& one : kReportFiles) {
    const std::string identity = folder.empty() ? "" : identity_of(path_of(one, folder, domain));
    if (!identity.empty()) files += fmt::format("{} {}|", one.ending, identity);
  }
  if (files.empty()) {
    kept_.erase(key);
    return std::make_shared<const EvaluationReport>();
  }
  if (const auto at = kept_.find(key); at != kept_.end() && at->second.files == files)
    return at->second.outcome;
  auto report = read_evaluation_report(folder, domain);
  Result<std::shared_ptr<const EvaluationReport>> outcome = std::shared_ptr<const EvaluationReport>();
  if (report)
    outcome = std::make_shared<const EvaluationReport>(std::move(*report));
  else
    outcome = report.error();
  kept_.insert_or_assign(key, Kept{files, outcome});
  return outcome;
}

JsonObject to_json(const EvaluationReport& report) {
  JsonObject out;
  if (report.has_table()) {
    out["depth"] = report.depth;
    out["queries"] = JsonArray(report.queries.begin(), report.queries.end());
    out["learner"] = method_json(report.learner);
    out["baselines"] = methods_json(report.baselines);
    out["features"] = methods_json(report.features);
  }
  JsonArray rounds;
  for (const ReportedRound& round : report.rounds)
    rounds.push_back(
        JsonObject{{"round", round.round}, {"ranking_loss", round.ranking_loss}, {"bound", round.bound}});
  out["rounds"] = std::move(rounds);
  if (!report.curves.empty()) out["learning_curves"] = curves_json(report.curves);
  return out;
}

}  // namespace metafuse::service
