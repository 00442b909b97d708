#include "service/answers/model_page.h"

#include <cmath>

#include "service/answers/bar_plot.h"
#include "service/answers/page.h"
#include "service/answers/reasons.h"
#include "service/base/dates.h"

namespace metafuse::service {
namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share));
}

std::string named(const std::string& version, const char* otherwise) {
  return version.empty() ? otherwise : version;
}

void add_score(const InterleavingScore& score, View& view) {
  const InterleavingCounts& counts = score.counts;
  const char* verdict = "That does not decide it yet.";
  if (score.low > 0.5) verdict = "People prefer the challenger.";
  if (score.high < 0.5) verdict = "People prefer the champion.";
  const std::string share = percent(score.challenger_share);
  view.add("SCORE")
      .set("DECIDED", std::to_string(counts.champion + counts.challenger))
      .set("WON", std::to_string(counts.challenger))
      .set("TIES", std::to_string(counts.ties))
      .set("SHARE", share)
      .set("LOW", percent(score.low))
      .set("HIGH", percent(score.high))
      .set("P", short_number(score.p))
      .set("VERDICT", verdict)
      .set("SVG", interval_plot(score.low, score.challenger_share, score.high,
                                "Share of the challenger: " + share + " %, 95 % interval " +
                                    percent(score.low) + " to " + percent(score.high) + " %"));
}

void add_versions(const ModelState& state, View& view) {
  if (state.versions.empty()) return;
  View& versions = view.add("VERSIONS");
  for (const ModelVersion& version : state.versions) {
    View& row = versions.add("VERSION");
    row.set("ID", version.version)
        .set("LEARNER", version.learner)
        .set("ORIGIN", version.origin)
        .set("TIME", version.at > 0 ? utc_text(version.at) : "before the store")
        .set("ROLE", version.is_champion     ? "champion"
                     : version.is_challenger ? "challenger "
                                             : "");
    if (!version.is_champion) row.add("CHOOSE");
  }
}

void add_state(const DomainModels& models, View& item) {
  const ModelState& state = models.state;
  View& view = item.add("STATE");
  view.set("CHAMPION", named(state.champion, "none: fused by RRF"))
      .set("CHALLENGER", named(state.challenger, "none yet"))
      .set("PREVIOUS", state.history.empty() ? "nowhere yet" : named(state.history.back(), "no model: RRF"));
  if (models.score) add_score(*models.score, view);
  add_versions(state, view);
}

}  // namespace

std::string model_page(const Snapshot& snapshot, const ModelPageState& state) {
  View view = page_view(&snapshot, "Models – metafuse", "", "");
  if (!state.done.empty()) view.add("DONE").set("TEXT", state.done);
  if (!state.wrong.empty()) view.add("WRONG").set("TEXT", state.wrong);
  if (state.is_off) view.add("OFF");
  for (const auto& [name, domain] : snapshot.domains) {
    View& item = view.add("ITEM");
    item.set("NAME", name).set("METHOD", fused_by(domain));
    if (state.is_off) continue;
    View& actions = item.add("ACTIONS");
    for (const DomainModels& models : state.models)
      if (models.domain == name) add_state(models, actions);
  }
  return render_page("models", view);
}

}  // namespace metafuse::service
