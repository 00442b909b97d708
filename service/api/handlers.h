#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/base/metrics.h"
#include "service/http/exchange.h"

namespace metafuse::service {

class DocumentKeeper;
class Finder;
class Gate;
class Operations;
class PageReader;
class PictureReader;
class Reloader;
class Suggester;
struct Records;
struct SearchAnswer;
struct SearchRequest;

// One function per route; router.cpp holds the table of routes. A handler takes as parameters the parts of
// the server that it needs. It gets only requests that passed the gate.

Answered handle_picture(PictureReader& pictures, const Exchange& exchange);
Answered handle_file(PictureReader& pictures, const Exchange& exchange);
Answered handle_native_search(Finder& finder, const Exchange& exchange);
Answered handle_fuse(Finder& finder, Gate& gate, const Clock& clock, const Exchange& exchange);
std::optional<HttpResponse> handle_small_fuse(Gate& gate, const Clock& clock, const Exchange& exchange);
Answered handle_get_templates(const Exchange& exchange);
Answered handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange);
Answered handle_template_versions(Records& records, const Exchange& exchange);
Answered handle_template_version(Records& records, const Exchange& exchange);
Answered handle_revert_templates(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_get_evaluation(Records& records, Metrics& metrics, const Exchange& exchange);
HttpResponse handle_mcp(Finder& finder, PageReader& pages, Gate& gate, const Exchange& exchange);
Answered handle_extract(PageReader& pages, Gate& gate, const Clock& clock, const Exchange& exchange);
Answered handle_openwebui_search(Finder& finder, const Exchange& exchange);
Answered handle_openwebui_extract(PageReader& pages, Gate& gate, const Exchange& exchange);
Answered handle_dify_retrieval(Finder& finder, const Exchange& exchange);
Answered handle_perplexity_search(Finder& finder, const Exchange& exchange);
Answered handle_rerank(Gate& gate, const Exchange& exchange);
Answered stream_search(Finder& finder, Reply& reply, const Exchange& exchange);
Answered handle_get_models(Records& records, const Exchange& exchange);
Answered handle_activate_model(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_retrain_model(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_measure_model(Records& records, const Exchange& exchange);
Answered handle_reset_feedback(Records& records, const Exchange& exchange);
Answered handle_feedback(Reloader& reloader, Records& records, Log& log, const Clock& clock,
                         const Exchange& exchange);
Answered handle_get_analytics(Records& records, const Exchange& exchange);
Answered handle_get_judgments(Records& records, const Exchange& exchange);
Answered handle_post_judgments(Records& records, const Exchange& exchange);
Answered handle_judging_queue(Records& records, const Exchange& exchange);
Answered handle_judging_results(Finder& finder, Records& records, Log& log, const Exchange& exchange);
Answered handle_grades(Records& records, const Exchange& exchange);
Answered handle_get_curation(Records& records, const Exchange& exchange);
Answered handle_put_curation(Reloader& reloader, Records& records, const Exchange& exchange);
Answered handle_curation_versions(Records& records, const Exchange& exchange);
Answered handle_curation_version(Records& records, const Exchange& exchange);
Answered handle_get_documents(DocumentKeeper& keeper, const Exchange& exchange);
Answered handle_put_documents(DocumentKeeper& keeper, const Exchange& exchange);
Answered handle_delete_documents(DocumentKeeper& keeper, const Exchange& exchange);
HttpResponse handle_searxng_config(const Exchange& exchange);
HttpResponse handle_autocompleter(const Suggester& suggester, const Exchange& exchange);
HttpResponse handle_opensearch(const Exchange& exchange);
HttpResponse handle_openapi(const Exchange& exchange);
HttpResponse handle_healthz();
Answered handle_get_engines(Operations& operations, const Exchange& exchange);
HttpResponse handle_readyz(Operations& operations, const Exchange& exchange);
HttpResponse handle_metrics(Operations& operations, const Exchange& exchange);

/// POST /search in Tavily's dialect.
Answered tavily_search(Finder& finder, const Clock& clock, const Exchange& exchange);

/// How fast the engines answer that the request's key may ask.
std::vector<Metrics::EngineLatency> latencies_for(const Exchange& exchange, const Metrics& metrics);

/// Whether models can be managed here.
bool has_models(const Records& records);

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

/// Searches a domain's edited form for the client, as a search of it would, and charges the key's quota for
/// every list that it may ask for.
///
/// errors: those of prepare_for_client() and Gate::admit_search()
OrRefusal<SearchAnswer> search_live(Gate& gate, const Exchange& exchange, const LoadedDomain& edited,
                                    const SearchRequest& request, const Clock& clock);

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

}  // namespace metafuse::service
