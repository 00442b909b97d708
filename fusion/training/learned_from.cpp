#include "fusion/training/learned_from.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json_members.h"
#include "fusion/model/prior.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion {
namespace {

constexpr const char* kJudge = "judge";

JsonObject from_other_domains(const JsonMembers& training) {
  JsonObject out;
  const JsonArray* const models = training.inner("prior").array("models");
  if (models != nullptr && !models->empty()) out["start"] = models->size();
  const JsonMembers pooled = training.inner("pooled");
  const double weight = pooled.number_or("weight");
  if (!(weight > 0.0)) return out;
  out["pooled_queries"] = count_of(pooled.number_or("queries"));
  out["weight"] = weight;
  return out;
}

bool is_set(const JsonMembers& members, std::string_view name) {
  const bool* const flag = members.flag(name);
  return flag != nullptr && *flag;
}

JsonObject from_judge(const JsonMembers& judge) {
  const auto* const model = judge.text("model");
  if (model == nullptr) return {};
  return {{"model", *model},
          {"weight", judge.number_or("weight")},
          {"only", is_set(judge, "only")},
          {"calibrated", is_set(judge, "calibrated")},
          {"queries", count_of(judge.number_or("queries"))}};
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

void note_judge(const LearnedJudge& judge, JsonObject& training) {
  if (judge.queries == 0) return;
  if (training.contains(kJudgedQueries)) {
    const std::uint64_t judged = count_of(JsonMembers(training).number_or(kJudgedQueries));
    training[kJudgedQueries] = judged - std::min<std::uint64_t>(judged, judge.answerable);
  }
  training[kJudge] = JsonObject{{"model", judge.model},
                                {"weight", judge.weight},
                                {"only", judge.is_only},
                                {"calibrated", judge.is_calibrated},
                                {"queries", judge.queries}};
}

JsonObject learned_from(const JsonObject& training) {
  const JsonMembers members(training);
  JsonObject out;
  if (members.number(kJudgedQueries) != nullptr)
    out[kJudgedQueries] = count_of(members.number_or(kJudgedQueries));
  if (auto others = from_other_domains(members); !others.empty()) out["other_domains"] = std::move(others);
  if (auto judge = from_judge(members.inner(kJudge)); !judge.empty()) out[kJudge] = std::move(judge);
  return out;
}

std::string learned_from_text(const JsonObject& training) {
  const JsonObject from = learned_from(training);
  const JsonMembers members(from);
  std::vector<std::string> parts;
  const JsonMembers others = members.inner("other_domains");
  if (others.find("start") != nullptr)
    parts.push_back(fmt::format("the models of {}", count_text(count_of(others.number_or("start")),
                                                               "other domain", "other domains")));
  if (others.find("weight") != nullptr)
    parts.push_back(fmt::format(
        "{} of other domains (at a weight of {:g})",
        count_text(count_of(others.number_or("pooled_queries")), "judged query", "judged queries"),
        others.number_or("weight")));
  const JsonMembers judge = members.inner(kJudge);
  if (const auto* const model = judge.text("model"))
    parts.push_back(fmt::format("{} that only the language model {} judged",
                                count_text(count_of(judge.number_or("queries")), "query", "queries"),
                                std::string(*model)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace metafuse::fusion
