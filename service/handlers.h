#pragma once

#include <string>
#include <string_view>

#include "service/learning/records.h"
#include "service/router.h"

namespace metafuse::service {

// One function per route; router.cpp holds the table of routes. A handler takes as parameters the parts of
// the server that it needs. It gets only requests that passed the gate.

HttpResponse handle_home(const Exchange& exchange);
HttpResponse handle_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange);
Answered handle_post_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange);
Answered handle_picture(PictureReader& pictures, const Exchange& exchange);
Answered handle_file(PictureReader& pictures, const Exchange& exchange);
Answered handle_native_search(Searcher& searcher, const Exchange& exchange);
Answered handle_fuse(Searcher& searcher, Gate& gate, const Clock& clock, const Exchange& exchange);
Answered handle_get_templates(const Exchange& exchange);
Answered handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange);
HttpResponse handle_template_list(const Exchange& exchange);
Answered handle_template_editor(Records& records, const Exchange& exchange);
Answered handle_template_form(Reloader& reloader, Records& records, Gate& gate, const Clock& clock, Log& log,
                              const Exchange& exchange);
Answered handle_template_versions(Records& records, const Exchange& exchange);
Answered handle_template_version(Records& records, const Exchange& exchange);
Answered handle_revert_templates(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_get_evaluation(Records& records, Metrics& metrics, const Exchange& exchange);
Answered handle_evaluation_page(Records& records, Metrics& metrics, Log& log, const Exchange& exchange);
HttpResponse handle_mcp(Searcher& searcher, PageReader& pages, Gate& gate, const Exchange& exchange);
Answered handle_extract(PageReader& pages, Gate& gate, const Clock& clock, const Exchange& exchange);
Answered stream_search(Searcher& searcher, Reply& reply, const Exchange& exchange);
Answered handle_get_models(Records& records, const Exchange& exchange);
Answered handle_activate_model(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_retrain_model(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_measure_model(Records& records, const Exchange& exchange);
Answered handle_reset_feedback(Records& records, const Exchange& exchange);
HttpResponse handle_model_page(Records& records, const Exchange& exchange);
Answered handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange);
Answered handle_feedback(Reloader& reloader, Records& records, Log& log, const Clock& clock,
                         const Exchange& exchange);
HttpResponse handle_get_preferences(const Exchange& exchange);
Answered handle_get_analytics(Records& records, const Exchange& exchange);
HttpResponse handle_analytics_list(const Exchange& exchange);
Answered handle_analytics_page(Records& records, const Exchange& exchange);
Answered handle_analytics_form(Records& records, Log& log, const Exchange& exchange);
Answered handle_get_judgments(Records& records, const Exchange& exchange);
Answered handle_post_judgments(Records& records, const Exchange& exchange);
Answered handle_judging_queue(Records& records, const Exchange& exchange);
Answered handle_judging_results(Searcher& searcher, Records& records, Log& log, const Exchange& exchange);
Answered handle_grades(Records& records, const Exchange& exchange);
Answered handle_get_curation(Records& records, const Exchange& exchange);
Answered handle_put_curation(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_curation_versions(Records& records, const Exchange& exchange);
Answered handle_curation_version(Records& records, const Exchange& exchange);
HttpResponse handle_curation_list(const Exchange& exchange);
Answered handle_curation_page(Records& records, const Exchange& exchange);
Answered handle_curation_form(Reloader& reloader, Records& records, const Exchange& exchange);
HttpResponse handle_judge_list(const Exchange& exchange);
Answered handle_judge_page(Records& records, const Exchange& exchange);
Answered handle_judge_form(Searcher& searcher, Records& records, PictureReader& pictures, Log& log,
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
Answered handle_static(const Exchange& exchange);

/// An edit of a domain's templates.
struct TemplateEdit {
  const std::string& domain;
  std::string_view text;
  std::string_view if_match;  ///< an If-Match header: the version that was edited, compared with the file
  std::string_view author;    ///< name of the key
};

/// Checks the text, keeps the version in the store, writes the file and reloads. If any step fails, the old
/// file stays. A lock on the file's folder allows one save at a time among all processes.
///
/// out:    the new entity tag
/// errors: 404 no such domain; 409 cannot be saved here; 412 the file changed; 422 mistakes, one per line;
///         503 another process is saving, or the disk or the store failed
OrRefusal<std::string> save_templates(Reloader& reloader, Records& records, const TemplateEdit& edit);

/// Whether If-Match or If-None-Match names an entity tag: "*", or a list of tags with or without quotes.
bool names_etag(std::string_view header, std::string_view etag);

/// An edit of a domain's curation.
struct CurationEdit {
  const std::string& domain;
  std::string_view text;
  std::string_view if_match;  ///< the entity tag of the version that was edited
  std::string_view author;    ///< name of the key
};

/// Checks the text and keeps it as the next version. The caller holds Reloader::files_mutex().
///
/// in:     records - with a store
/// out:    the text as stored
/// errors: 412 it changed meanwhile; 422 mistakes; 503 the store failed
OrRefusal<std::string> save_curation(Records& records, const CurationEdit& edit,
                                     const TrackingParameters& tracking);

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
/// in: state - what a refused form's page keeps of the form
template <class State, class Draw>
boost::system::result<const LoadedDomain*, Answered> domain_of_form(const Records& records,
                                                                    const Exchange& exchange,
                                                                    const Draw& draw, State state) {
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr || records.store == nullptr) return first_domain_page<State>(records, exchange, draw);
  if (!exchange.refused_action) return domain;
  if (exchange.snapshot->config.needs_key)  // then the page must not reveal which domains exist
    return Answered(*exchange.refused_action);
  state.wrong = exchange.refused_action->text;
  return Answered(html_response(draw(exchange, *domain, state), exchange.refused_action->status));
}

}  // namespace metafuse::service
