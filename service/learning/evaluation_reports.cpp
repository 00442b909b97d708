#include "service/learning/evaluation_reports.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/text_file.h"

namespace metafuse::service {
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
      return bad_report(file, "a rank in \"best_rank\" is no whole number from 1 on");
    method.best_rank.push_back(static_cast<int>(rank.get_int64()));
  }
  return method;
}

Result<void> read_methods(const JsonObject& root, const char* key, const std::string& file,
                          std::vector<ReportedMethod>& out) {
  const Json* list = root.if_contains(key);
  if (list == nullptr || !list->is_array())
    return bad_report(file, "\"" + std::string(key) + "\" is no list");
  for (const Json& item : list->get_array()) {
    TRY(auto method, read_method(&item, file));
    out.push_back(std::move(method));
  }
  return {};
}

/// Every method must have a rank for every query.
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
  if (queries == nullptr || !queries->is_array()) return bad_report(file, "\"queries\" is no list");
  for (const Json& query : queries->get_array()) {
    if (!query.is_string()) return bad_report(file, "a query id is no text");
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

JsonObject method_json(const ReportedMethod& method) {
  return {{"name", method.name},
          {"average_rank", method.average_rank},
          {"best_rank", JsonArray(method.best_rank.begin(), method.best_rank.end())}};
}

/// What changes when a file is written or replaced; empty when there is none.
std::string identity_of(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

std::string table_file(const std::string& folder, std::string_view domain) {
  return fmt::format("{}/{}.crossvalidation.json", folder, domain);
}
std::string trace_file(const std::string& folder, std::string_view domain) {
  return fmt::format("{}/{}.trace.jsonl", folder, domain);
}

}  // namespace

std::size_t ReportedMethod::top(int k) const {
  return static_cast<std::size_t>(
      std::count_if(best_rank.begin(), best_rank.end(), [&](int rank) { return rank <= k; }));
}

Result<EvaluationReport> read_evaluation_report(const std::string& folder, std::string_view domain) {
  EvaluationReport report;
  if (folder.empty()) return report;
  if (const std::string file = table_file(folder, domain); std::filesystem::exists(file))
    TRY_VOID(read_table(file, report));
  if (const std::string file = trace_file(folder, domain); std::filesystem::exists(file))
    TRY_VOID(read_trace(file, report));
  return report;
}

Result<std::shared_ptr<const EvaluationReport>> EvaluationReports::read(const std::string& folder,
                                                                        std::string_view domain) {
  const std::lock_guard lock(mutex_);
  const std::string key = fmt::format("{}/{}", folder, domain);
  const std::string table = identity_of(table_file(folder, domain));
  const std::string trace = identity_of(trace_file(folder, domain));
  if (folder.empty() || (table.empty() && trace.empty())) {
    kept_.erase(key);
    return std::make_shared<const EvaluationReport>();
  }
  const std::string files = table + '|' + trace;
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
  return out;
}

}  // namespace metafuse::service
