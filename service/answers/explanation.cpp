#include "service/answers/explanation.h"

#include "service/answers/reasons.h"

namespace metafuse::service {

JsonObject fusion_json(const SearchAnswer& answer) {
  JsonArray features;
  for (const fusion::Feature& feature : answer.features) features.emplace_back(feature.name);
  JsonObject out;
  out["domain"] = answer.domain;
  out["method"] = answer.fusion.method;
  out["model"] = answer.fusion.model.empty() ? Json(nullptr) : Json(answer.fusion.model);
  out["version"] = answer.fusion.version.empty() ? Json(nullptr) : Json(answer.fusion.version);
  out["notice"] = answer.fusion.notice.empty() ? Json(nullptr) : Json(answer.fusion.notice);
  if (answer.fusion.online_steps > 0)
    out["online"] = JsonObject{{"method", "oap-bpm"}, {"examples", answer.fusion.online_steps}};
  if (!answer.fusion.challenger.empty()) out["interleaved_with"] = answer.fusion.challenger;
  out["features"] = std::move(features);
  return out;
}

void add_online(const FusedResult& result, JsonObject& out) {
  if (result.moved_from == 0) return;
  out["moved_from"] = result.moved_from;
  out["online_score"] = result.online_score;
}

JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer,
                           const FusedResult& result) {
  JsonArray out;
  for (const Reason& reason : reasons_of(domain, answer, result)) {
    JsonObject item;
    item["feature"] = reason.feature;
    item["rank"] = reason.rank > 0 ? Json(reason.rank) : Json(nullptr);
    item["weight"] = reason.weight ? Json(*reason.weight) : Json(nullptr);
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace metafuse::service
