#pragma once

#include <utility>

#include "core/deadline.h"
#include "service/http/exchange.h"
#include "service/learning/records.h"
#include "service/pages/page.h"

namespace metafuse::service {

class Finder;
class Gate;
class PictureReader;
class Operations;
class Reloader;

// One function per route of pages, as in service/api/handlers.h.

HttpResponse handle_home(const Exchange& exchange);
HttpResponse handle_search(Finder& finder, PictureReader& pictures, Reply& reply, const Exchange& exchange);
Answered handle_post_search(Finder& finder, PictureReader& pictures, const Clock& clock,
                            const Exchange& exchange);
HttpResponse handle_template_list(const Exchange& exchange);
Answered handle_template_editor(Records& records, const Exchange& exchange);
Answered handle_template_form(Reloader& reloader, Records& records, Gate& gate, PictureReader& pictures,
                              const Clock& clock, Log& log, const Exchange& exchange);
Answered handle_evaluation_page(Records& records, Metrics& metrics, Log& log, const Exchange& exchange);
HttpResponse handle_engine_page(const Exchange& exchange);
HttpResponse handle_engine_form(Operations& operations, const Exchange& exchange);
HttpResponse handle_model_page(Records& records, const Exchange& exchange);
Answered handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_get_preferences(const Exchange& exchange);
HttpResponse handle_analytics_list(const Exchange& exchange);
Answered handle_analytics_page(Records& records, const Exchange& exchange);
Answered handle_analytics_form(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_curation_list(const Exchange& exchange);
Answered handle_curation_page(Records& records, const Exchange& exchange);
Answered handle_curation_form(Reloader& reloader, Records& records, const Exchange& exchange);
HttpResponse handle_judge_list(const Exchange& exchange);
Answered handle_judge_page(Records& records, const Exchange& exchange);
Answered handle_judge_form(Finder& finder, Records& records, PictureReader& pictures, Log& log,
                           const Exchange& exchange);
Answered handle_preferences(const Exchange& exchange);
HttpResponse handle_docs(const Exchange& exchange);
Answered handle_static(const Exchange& exchange);

// The common beginning of the handlers of /judge/DOMAIN and /analytics/DOMAIN: they find the domain, check
// that the server has a store, and that the sender of a form may use it. `draw` renders a page from its
// state, a struct with the members is_off and wrong.

/// The response to a page that is opened, before any form was sent.
template <class State, class Draw>
Answered first_domain_page(const Records& records, const Exchange& exchange, const Draw& draw) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  State state;
  state.is_off = records.store == nullptr;
  return html_response(draw(exchange, *domain, state));
}

/// The domain of a form, or the answer to a form that is refused.
///
/// in: state - what a refused form's page keeps of the form, beside what can be sent again with another key
template <class State, class Draw>
boost::system::result<const LoadedDomain*, Answered> domain_of_form(const Records& records,
                                                                    const Exchange& exchange,
                                                                    const Draw& draw, State state) {
  if (exchange.refused_action && exchange.snapshot->config.needs_key)
    return Answered(*exchange.refused_action);  // before anything reveals which domains exist
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr || records.store == nullptr) return first_domain_page<State>(records, exchange, draw);
  if (!exchange.refused_action) return domain;
  state.wrong = exchange.refused_action->text;
  if constexpr (requires { state.unsaved; }) state.unsaved = without_key(exchange.form);
  return Answered(html_response(draw(exchange, *domain, state), exchange.refused_action->status));
}

}  // namespace metafuse::service
