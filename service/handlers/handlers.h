#pragma once

#include "service/router.h"

namespace metafuse::service {

// One function per route; router.cpp holds the table of routes. A handler takes as parameters the parts of
// the server that it needs. It gets only requests that passed the gate.

HttpResponse handle_home(const Exchange& exchange);
HttpResponse handle_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange);
HttpResponse handle_post_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange);
HttpResponse handle_picture(PictureReader& pictures, const Exchange& exchange);
HttpResponse handle_file(PictureReader& pictures, const Exchange& exchange);
HttpResponse handle_native_search(Searcher& searcher, const Exchange& exchange);
HttpResponse handle_fuse(Searcher& searcher, const Exchange& exchange);
HttpResponse handle_get_templates(const Exchange& exchange);
HttpResponse handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange);
HttpResponse handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange);
HttpResponse handle_template_list(const Exchange& exchange);
HttpResponse handle_template_editor(Records& records, const Exchange& exchange);
HttpResponse handle_template_form(Reloader& reloader, Records& records, Gate& gate, const Clock& clock,
                                  Log& log, const Exchange& exchange);
HttpResponse handle_template_versions(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_template_version(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_revert_templates(Reloader& reloader, Records& records, Log& log,
                                     const Exchange& exchange);
HttpResponse handle_get_evaluation(Records& records, Metrics& metrics, Log& log, const Exchange& exchange);
HttpResponse handle_evaluation_page(Records& records, Metrics& metrics, Log& log, const Exchange& exchange);
HttpResponse handle_mcp(Searcher& searcher, PageReader& pages, Gate& gate, const Exchange& exchange);
HttpResponse handle_extract(PageReader& pages, Gate& gate, const Clock& clock, const Exchange& exchange);
HttpResponse stream_search(Searcher& searcher, Reply& reply, const Exchange& exchange);
HttpResponse handle_get_models(Records& records, const Exchange& exchange);
HttpResponse handle_activate_model(Reloader& reloader, Records& records, const Exchange& exchange);
HttpResponse handle_retrain_model(Reloader& reloader, Records& records, const Exchange& exchange);
HttpResponse handle_measure_model(Records& records, const Exchange& exchange);
HttpResponse handle_reset_feedback(Records& records, const Exchange& exchange);
HttpResponse handle_model_page(Records& records, const Exchange& exchange);
HttpResponse handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_feedback(Reloader& reloader, Records& records, Log& log, const Clock& clock,
                             const Exchange& exchange);
HttpResponse handle_get_preferences(const Exchange& exchange);
HttpResponse handle_get_analytics(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_analytics_list(const Exchange& exchange);
HttpResponse handle_analytics_page(Records& records, const Exchange& exchange);
HttpResponse handle_analytics_form(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_get_judgments(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_post_judgments(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_judging_queue(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_judging_results(Searcher& searcher, Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_grades(Records& records, Log& log, const Exchange& exchange);
HttpResponse handle_judge_list(const Exchange& exchange);
HttpResponse handle_judge_page(Records& records, const Exchange& exchange);
HttpResponse handle_judge_form(Searcher& searcher, Records& records, PictureReader& pictures, Log& log,
                               const Exchange& exchange);
HttpResponse handle_preferences(const Exchange& exchange);
HttpResponse handle_searxng_config(const Exchange& exchange);
HttpResponse handle_autocompleter(Searcher& searcher, const Exchange& exchange);
HttpResponse handle_opensearch(const Exchange& exchange);
HttpResponse handle_openapi(const Exchange& exchange);
HttpResponse handle_docs();
HttpResponse handle_healthz();
HttpResponse handle_readyz(Operations& operations, const Exchange& exchange);
HttpResponse handle_metrics(Operations& operations);
HttpResponse handle_static(const Exchange& exchange);

}  // namespace metafuse::service
