#include "service/learning/evaluation_reports.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

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

Result<ReportedMethod> read_method(const Json* value, const std::string& file) {
  const JsonObject* object = value == nullptr ? nullptr : value->if_object();
  const Json* name = object == nullptr ? nullptr : object->if_contains("name");
  const Json* average = object == nullptr ? nullptr : object->if_contains("average_rank");
  const Json* ranks = object == nullptr ? nullptr : object->if_contains("best_rank");
  if (name == nullptr || !name->is_string() || average == nullptr || !average->is_number() ||
      ranks == nullptr || !ranks->is_array())
    return bad_report(file, "a method lacks \"name\", \"average_rank\" or \"best_rank\"");
  ReportedMethod method{std::string(name->get_string()), {}, average->to_number<double>()};
  for (const Json& rank : ranks->get_array()) {
    if (!rank.is_int64() || rank.get_int64() < 1 || rank.get_int64() > 1'000'000)
      return bad_report(file, "a rank in \"best_rank\" is not a whole number of at least 1");
    method.best_rank.push_back(static_cast<int>(rank.get_int64()));
  }
  return method;
}

Result<void> read_methods(const JsonObject& root, const char* key, const std::string& file,
                          std::vector<ReportedMethod>& out) {
  const Json* list = root.if_contains(key);
  if (list == nullptr || !list->is_array())
    return bad_report(file, "\"" + std::string(key) + "\" is not a list");
  for (const Json& item : list->get_array()) {
    TRY(auto method, read_method(&item, file));
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
  TRY(auto root, parse_json(text, file));
  const JsonObject* object = root.if_object();
  const Json* queries = object == nullptr ? nullptr : object->if_contains("queries");
  if (queries == nullptr || !queries->is_array()) return bad_report(file, "\"queries\" is not a list");
  for (const Json& query : queries->get_array()) {
    if (!query.is_string()) return bad_report(file, "a query id is not a string");
    report.queries.emplace_back(query.get_string());
  }
  if (const Json* depth = object->if_contains("depth"); depth != nullptr && depth->is_int64())
    report.depth = static_cast<int>(std::clamp<std::int64_t>(depth->get_int64(), 1, 1'000'000));
  TRY(auto learner, read_method(object->if_contains("learner"), file));
  report.learner = std::move(learner);
  if (auto read = read_methods(*object, "baselines", file, report.baselines); !read) return read;
  if (auto read = read_methods(*object, "features", file, report.features); !read) return read;
  return check_sizes(report, file);
}

Result<void> read_trace(const std::string& file, EvaluationReport& report) {
  return for_each_line(file, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.empty() || report.rounds.size() >= kMaxRounds) return {};
    JsonLimits limits;
    limits.first_line = number;
    TRY(auto value, parse_json(line, file, Code::bad_data, limits));
    const JsonObject* object = value.if_object();
    const auto number_at = [&](const char* key) -> const Json* {
      const Json* found = object == nullptr ? nullptr : object->if_contains(key);
      return found != nullptr && found->is_number() ? found : nullptr;
    };
    const Json* round = number_at("round");
    const Json* loss = number_at("ranking_loss");
    const Json* bound = number_at("bound");
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
    return fail(Code::bad_data, file + ": not an object; write it with metafuse experiment learning-curve");
  for (const auto& [collection, points] : root.as_object()) {
    if (!points.is_array() || points.as_array().size() > kMostPoints) continue;
    ReportedCurves curves{std::string(collection), {}};
    for (const Json& point : points.as_array()) {
      const JsonObject* object = point.if_object();
      const Json* queries = object == nullptr ? nullptr : object->if_contains("queries");
      const Json* map = object == nullptr ? nullptr : object->if_contains("map");
      if (queries == nullptr || !queries->is_number() || map == nullptr || !map->is_object()) continue;
      for (const auto& [name, draws] : map->as_object())
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
    JsonLimits limits;
    limits.first_line = number;
    TRY(const Json json, parse_json(line, file, Code::bad_data, limits));
    const JsonObject* object = json.if_object();
    const Json* id = object == nullptr ? nullptr : object->if_contains("id");
    const Json* slots = object == nullptr ? nullptr : object->if_contains("slots");
    if (id == nullptr || !id->is_string() || slots == nullptr || !slots->is_object())
      return fail(Code::bad_data,
                  file + ":" + std::to_string(number) + ": not an object of \"id\" and \"slots\"");
    BaseQuery& query = report.words[std::string(id->get_string())];
    for (const auto& [name, value] : slots->as_object())
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
    JsonArray baselines;
    for (const ReportedMethod& method : report.baselines) baselines.push_back(method_json(method));
    out["baselines"] = std::move(baselines);
    JsonArray features;
    for (const ReportedMethod& method : report.features) features.push_back(method_json(method));
    out["features"] = std::move(features);
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
