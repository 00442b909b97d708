#include <string>

#include <fmt/format.h>

#include "service/api/handlers.h"
#include "service/api/operations.h"
#include "service/base/dates.h"
#include "service/http/message.h"
#include "service/pages/handlers.h"
#include "service/pages/page.h"

// /engines: whether each engine still answers as it used to.

namespace metafuse::service {
namespace {

std::string remark_on(const fetchers::EngineHealth& engine) {
  if (engine.state != fetchers::HealthState::works) return engine.text();
  if (engine.is_suspected) return "the latest answers are unlike the others";
  return engine.is_learned ? "" : "not enough answers yet to judge by";
}

void add_engine_table(const std::vector<fetchers::EngineHealth>& engines, View& view) {
  View& table = view.add("TABLE");
  std::size_t broken = 0;
  for (const fetchers::EngineHealth& engine : engines) {
    broken += engine.state != fetchers::HealthState::works ? 1 : 0;
    table.add("ROW")
        .set("NAME", engine.engine)
        .set("STATE", std::string(fetchers::name_of(engine.state)))
        .set("ANSWERS", std::to_string(engine.answers))
        .set("USUAL", engine.usual_results ? fmt::format("{:.0f}", *engine.usual_results) : "–")
        .set("LAST", engine.last > 0 ? iso_day(engine.last) : "–")
        .set("REMARK", remark_on(engine));
  }
  table.set("BROKEN", std::to_string(broken)).set("COUNT", std::to_string(engines.size()));
}

}  // namespace

HttpResponse handle_engine_page(const Exchange& exchange) {
  return html_response(render_page("engines", page_view(&exchange, "Engines", "", "")));
}

HttpResponse handle_engine_form(Operations& operations, const Exchange& exchange) {
  View view = page_view(&exchange, "Engines", "", "");
  if (exchange.refused_action) {
    view.add("WRONG").set("TEXT", exchange.refused_action->text);
    return html_response(render_page("engines", view), exchange.refused_action->status);
  }
  add_engine_table(engines_for(operations, exchange), view);
  return html_response(render_page("engines", view));
}

}  // namespace metafuse::service
