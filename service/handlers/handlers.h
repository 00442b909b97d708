#pragma once

#include "service/http/exchange.h"
#include "service/http/message.h"

namespace metafuse::service {

class App;

// One function a route, in a file named for it (service/handlers/NAME.cpp); router.cpp holds the table.

HttpResponse handle_home(App& app, const Exchange& exchange);
HttpResponse handle_search(App& app, const Exchange& exchange);
HttpResponse handle_post_search(App& app, const Exchange& exchange);
HttpResponse handle_tavily_search(App& app, const Exchange& exchange);
HttpResponse handle_native_search(App& app, const Exchange& exchange);
HttpResponse handle_get_templates(App& app, const Exchange& exchange);
HttpResponse handle_put_templates(App& app, const Exchange& exchange);
HttpResponse handle_preview_templates(App& app, const Exchange& exchange);
HttpResponse handle_template_list(App& app, const Exchange& exchange);
HttpResponse handle_template_editor(App& app, const Exchange& exchange);
HttpResponse handle_template_form(App& app, const Exchange& exchange);
HttpResponse handle_template_versions(App& app, const Exchange& exchange);
HttpResponse handle_template_version(App& app, const Exchange& exchange);
HttpResponse handle_revert_templates(App& app, const Exchange& exchange);
HttpResponse handle_get_evaluation(App& app, const Exchange& exchange);
HttpResponse handle_evaluation_page(App& app, const Exchange& exchange);
HttpResponse handle_mcp(App& app, const Exchange& exchange);
void stream_search(App& app, const Exchange& exchange, Responder& responder);
HttpResponse handle_get_models(App& app, const Exchange& exchange);
HttpResponse handle_activate_model(App& app, const Exchange& exchange);
HttpResponse handle_retrain_model(App& app, const Exchange& exchange);
HttpResponse handle_measure_model(App& app, const Exchange& exchange);
HttpResponse handle_reset_feedback(App& app, const Exchange& exchange);
HttpResponse handle_model_page(App& app, const Exchange& exchange);
HttpResponse handle_model_form(App& app, const Exchange& exchange);
HttpResponse handle_feedback(App& app, const Exchange& exchange);
HttpResponse handle_preferences(App& app, const Exchange& exchange);
HttpResponse handle_searxng_config(App& app, const Exchange& exchange);
HttpResponse handle_autocompleter(App& app, const Exchange& exchange);
HttpResponse handle_opensearch(App& app, const Exchange& exchange);
HttpResponse handle_openapi(App& app, const Exchange& exchange);
HttpResponse handle_healthz(App& app, const Exchange& exchange);
HttpResponse handle_readyz(App& app, const Exchange& exchange);
HttpResponse handle_metrics(App& app, const Exchange& exchange);
HttpResponse handle_static(App& app, const Exchange& exchange);

}  // namespace metafuse::service
