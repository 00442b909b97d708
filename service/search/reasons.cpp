#include "service/search/reasons.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "service/search/list_fusion.h"
#include "service/search/list_selection.h"

namespace metafuse::service {
namespace {

int best_rank(const SearchAnswer& answer, const FusedResult& result, const std::string& feature) {
  int best = 0;
  for (const Placement& place : result.placements)
    if (answer.features[place.feature].name == feature && (best == 0 || place.rank < best)) best = place.rank;
  return best;
}

}  // namespace

std::vector<Reason> reasons_of(const LoadedDomain& domain, const SearchAnswer& answer,
                               const FusedResult& result) {
  const auto weights = contributions_of(domain, answer, result);
  const auto& features = domain.model ? domain.model->features : answer.features;
  std::vector<Reason> out;
  for (std::size_t i = 0; i < features.size(); ++i) {
    Reason reason{features[i].name, best_rank(answer, result, features[i].name), {}};
    if (i < weights.size()) reason.weight = weights[i];
    if (reason.rank > 0 || reason.weight.value_or(0.0) != 0) out.push_back(std::move(reason));
  }
  std::stable_sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) {
    return a.weight ? a.weight > b.weight : a.rank < b.rank;
  });
  return out;
}

std::vector<std::string_view> engines_of(const SearchAnswer& answer, const FusedResult& result) {
  std::vector<std::string_view> out;
  out.reserve(result.placements.size());
  const std::size_t searched = answer.lists.size() - answer.second_stage;
  for (const Placement& place : result.placements) {
    if (place.feature >= searched) continue;  // a reranker found nothing itself
    const std::string& engine = answer.lists[place.feature].query.engine;
    if (std::find(out.begin(), out.end(), engine) == out.end()) out.push_back(engine);
  }
  return out;
}

std::string failed_engines(const SearchAnswer& answer) {
  std::string out;
  std::set<std::string_view> named;
  for (const fetchers::FetchedList& list : answer.lists)
    if (list.has_failed() && named.insert(failed_name(list)).second)
      out += (out.empty() ? "" : ", ") + failed_name(list);
  return out;
}

const std::string& failed_name(const fetchers::FetchedList& list) {
  return list.query.engine.empty() ? list.query.template_id : list.query.engine;
}

std::string failure_text(const fetchers::FetchedList& list, bool is_detailed) {
  std::string out(fetchers::name_of(list.failure));
  const bool is_ours = list.failure == fetchers::Failure::broken;  // a message without hosts and paths
  if ((is_detailed || is_ours) && !list.message.empty()) out += ": " + list.message;
  return out;
}

void note_once(std::string what, std::vector<std::string>& known) {
  constexpr std::size_t kMostNoted = 10;
  if (known.size() < kMostNoted && std::ranges::find(known, what) == known.end())
    known.push_back(std::move(what));
}

void note_failure(const fetchers::FetchedList& list, std::vector<std::string>& known) {
  const std::string kind = list.has_failed() ? std::string(fetchers::name_of(list.failure)) + ": " : "";
  note_once(list.query.engine + ": " + kind + list.message, known);
}

std::string weight_text(const Reason& reason) {
  return reason.weight ? short_number(*reason.weight) : "–";
}

std::string short_number(double value) {
  if (value == 0) return "0";
  char text[40];
  std::snprintf(text, sizeof text, std::fabs(value) < 0.1 ? "%.4f" : "%.3f", value);
  return text;
}

JsonObject fusion_json(const SearchAnswer& answer) {
  JsonArray features;
  for (const fusion::Feature& feature : answer.features) features.emplace_back(feature.name);
  JsonObject out;
  out["domain"] = answer.domain;
  out["method"] = answer.fusion.method;
  out["model"] = answer.fusion.model.empty() ? Json(nullptr) : Json(answer.fusion.model);
  out["version"] = answer.fusion.version.empty() ? Json(nullptr) : Json(answer.fusion.version);
  if (!answer.fusion.templates.empty()) out["templates"] = answer.fusion.templates;
  out["notice"] = answer.fusion.notice.empty() ? Json(nullptr) : Json(answer.fusion.notice);
  if (!answer.fusion.choice.empty()) out["auto"] = answer.fusion.choice;
  if (!answer.fusion.learned_from.empty()) out["learned_from"] = answer.fusion.learned_from;
  if (answer.fusion.online_steps > 0)
    out["online"] = JsonObject{{"method", "oap-bpm"}, {"examples", answer.fusion.online_steps}};
  if (!answer.fusion.challenger.empty()) out["interleaved_with"] = answer.fusion.challenger;
  out["features"] = std::move(features);
  return out;
}

JsonArray not_asked_json(const SearchAnswer& answer) {
  JsonArray out;
  for (const NotAsked& each : answer.not_asked)
    out.push_back(JsonObject{{"feature", each.feature}, {"engine", each.engine}, {"why", name_of(each.why)}});
  return out;
}

std::string_view name_of(Decided decided) {
  return decided == Decided::pinned ? "pinned" : decided == Decided::added ? "added" : "";
}

void add_decisions(const FusedResult& result, JsonObject& out) {
  if (result.grade) out["judged"] = *result.grade;
  if (result.decided != Decided::nothing) out["decided"] = name_of(result.decided);
}

void add_online(const FusedResult& result, JsonObject& out) {
  if (result.moved_from == 0) return;
  out["moved_from"] = result.moved_from;
  out["online_score"] = result.online_score;
}

JsonObject reason_json(const Reason& reason) {
  return {{"feature", reason.feature},
          {"rank", reason.rank > 0 ? Json(reason.rank) : Json(nullptr)},
          {"weight", reason.weight ? Json(*reason.weight) : Json(nullptr)}};
}

JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer,
                           const FusedResult& result) {
  JsonArray out;
  for (const Reason& reason : reasons_of(domain, answer, result)) out.push_back(reason_json(reason));
  return out;
}

}  // namespace metafuse::service
