#include "service/router.h"

#include <tuple>

#include "service/api/handlers.h"
#include "service/pages/errors.h"
#include "service/pages/handlers.h"

namespace metafuse::service {
namespace {

using enum Dialect;
using enum Access;
using enum Effect;
using enum Cost;
using enum Where;
using Body = BodyType;

template <class Answer, class Made, class... Needs>
Answer call_with(Made (*handle)(Needs...), const Parts& parts) {
  return handle(std::get<Needs>(parts)...);
}

/// Adapts a handler for the table: calls it with the parts whose types its parameters have.
template <auto Handle>
Answered with(const Parts& parts) {
  return call_with<Answered>(Handle, parts);
}

/// The same for a handler that answers small requests only.
template <auto Handle>
std::optional<HttpResponse> if_small(const Parts& parts) {
  return call_with<std::optional<HttpResponse>>(Handle, parts);
}

/// Clients without the role still get the editor's preview of the file in use.
constexpr FormAction kEditorActions[] = {{"", admin}};
constexpr FormAction kAnalyticsActions[] = {{"", admin}};
constexpr FormAction kModelActions[] = {{"", admin}};
constexpr FormAction kEngineActions[] = {{"", admin}};
constexpr FormAction kCurationActions[] = {{"", admin}};
constexpr FormAction kJudgeActions[] = {{"", judge}};

// Common declarations of routes: they read, ask engines, or change something.
constexpr RouteRules reads(Dialect dialect, Access access = open, Cost cost = little) {
  return {dialect, access, Body::none, none, cost};
}
constexpr RouteRules asking(Dialect dialect, BodyType body, std::span<const FormAction> actions = {}) {
  return {dialect, Access::search, body, asks, normal, actions};
}
constexpr RouteRules changing(Dialect dialect, Access access, BodyType body, Cost cost,
                              std::span<const FormAction> actions = {}) {
  return {dialect, access, body, changes, cost, actions};
}

constexpr Route kRoutes[] = {
    {"GET", "/", "home", reads(page, Access::search), inline_thread, with<handle_home>, "The search page"},
    {"GET", "/search", "search", asking(searxng, Body::none), worker, with<handle_search>,
     "Search: the page, or SearXNG's JSON, CSV or RSS"},
    {"POST", "/search", "search", asking(searxng, Body::json_or_form), worker, with<handle_post_search>,
     "Search in Tavily's dialect (JSON) or SearXNG's (form)"},
    {"GET", "/picture", "picture", reads(plain, Access::search, little), worker, with<handle_picture>,
     "The small picture beside a result, if pictures are switched on; links to it are signed"},
    {"GET", "/files/{domain}", "files", reads(page, Access::search), worker, with<handle_file>,
     "A result that is a file of this machine, if `files` is set; links to it are signed"},
    {"POST", "/extract", "extract", asking(tavily, Body::json), worker, with<handle_extract>,
     "The readable text of pages, in Tavily's dialect"},
    {"POST", "/openwebui/search", "openwebui_search", asking(openwebui, Body::json), worker,
     with<handle_openwebui_search>, "Open WebUI's external web search"},
    {"POST", "/openwebui/extract", "openwebui_extract", asking(openwebui, Body::json), worker,
     with<handle_openwebui_extract>, "Open WebUI's external web loader: the readable text of pages"},
    {"POST", "/retrieval", "dify_retrieval", asking(dify, Body::json), worker, with<handle_dify_retrieval>,
     "Dify's external knowledge: a domain is a knowledge base"},
    {"POST", "/perplexity/search", "perplexity_search", asking(perplexity, Body::json), worker,
     with<handle_perplexity_search>, "Search in the shape of Perplexity's API"},
    {"POST", "/v1/rerank", "rerank", asking(rerank, Body::json), worker, with<handle_rerank>,
     "Orders the request's documents by a domain's lists over them, in Jina's and Cohere's shapes"},
    {"POST", "/v2/rerank", "rerank", asking(rerank, Body::json), worker, with<handle_rerank>,
     "The same, where Cohere's version 2 has it"},
    {"POST", "/rerank", "rerank", asking(rerank, Body::json), worker, with<handle_rerank>,
     "The same, also in the shape of Text Embeddings Inference"},
    {"POST", "/mcp", "mcp", asking(mcp, Body::json), worker, with<handle_mcp>,
     "Model Context Protocol, session and stateless form"},
    {"POST", "/v1/search", "v1_search", asking(native, Body::json), worker, with<handle_native_search>,
     "Search with slots, query variants, deadline and explanation"},
    {"POST", "/v1/fuse", "v1_fuse", asking(native, Body::json_or_lines), worker, with<handle_fuse>,
     "Fuses the caller's lists, by a domain's model or a method", if_small<handle_small_fuse>},
    {"GET", "/v1/templates/{domain}", "v1_templates", reads(native, Access::search), inline_thread,
     with<handle_get_templates>, "The search templates of a domain"},
    {"PUT", "/v1/templates/{domain}", "v1_templates", changing(native, admin, Body::yaml, much), worker,
     with<handle_put_templates>, "Saves a domain's templates; needs If-Match"},
    {"POST", "/v1/templates/{domain}/preview", "v1_preview", asking(native, Body::json), worker,
     with<handle_preview_templates>,
     "The queries that a base query expands to with edited templates, with live lists on request"},
    {"GET", "/v1/templates/{domain}/versions", "v1_versions", reads(native, admin), store_worker,
     with<handle_template_versions>, "Every saved version of a domain's templates, the latest first"},
    {"GET", "/v1/templates/{domain}/versions/{number}", "v1_versions", reads(native, admin), store_worker,
     with<handle_template_version>, "One version, with its text"},
    {"POST", "/v1/templates/{domain}/versions/{number}/revert", "v1_versions",
     changing(native, admin, Body::optional_json, much), worker, with<handle_revert_templates>,
     "Restores a version of the domain's templates; needs If-Match"},
    {"GET", "/templates", "templates", reads(page, Access::search), inline_thread, with<handle_template_list>,
     "Page of all domains and their templates"},
    {"GET", "/templates/{domain}", "templates", reads(page, Access::search), worker,
     with<handle_template_editor>, "Editor of a domain's templates"},
    {"POST", "/templates/{domain}", "templates", asking(page, Body::form, kEditorActions), worker,
     with<handle_template_form>, "Form of the template editor: preview, live lists, save, versions"},
    {"GET", "/v1/engines", "v1_engines", reads(native, admin), inline_thread, with<handle_get_engines>,
     "Whether each engine still answers as it used to"},
    {"GET", "/engines", "engines", reads(page, Access::search), inline_thread, with<handle_engine_page>,
     "Page of the engines' states"},
    {"POST", "/engines", "engines", changing(page, Access::search, Body::form, little, kEngineActions),
     inline_thread, with<handle_engine_form>, "Form of the engines' page; needs a key with the role admin"},
    {"GET", "/v1/evaluation", "v1_evaluation", reads(native, Access::search, much), worker,
     with<handle_get_evaluation>, "The last offline reports"},
    {"GET", "/evaluation", "evaluation", reads(page, Access::search, much), worker,
     with<handle_evaluation_page>, "The last offline reports, as tables and plots"},
    {"GET", "/v1/search/stream", "v1_stream", asking(native, Body::none), worker, with<stream_search>,
     "The same search as server-sent events, re-fused as lists arrive"},
    {"POST", "/v1/feedback", "v1_feedback", changing(native, Access::search, Body::json, normal),
     store_worker, with<handle_feedback>, "A click or a judgment on a result that was shown"},
    {"GET", "/v1/judgments/{domain}", "v1_judgments", reads(native, judge), store_worker,
     with<handle_get_judgments>, "A domain's judgments as qrels or JSON lines"},
    {"POST", "/v1/judgments/{domain}", "v1_judgments", changing(native, judge, Body::text_or_lines, normal),
     worker, with<handle_post_judgments>,
     "Imports judgments and queries to be judged, as qrels or JSON lines"},
    {"GET", "/v1/judgments/{domain}/queue", "v1_judgments", reads(native, judge, normal), worker,
     with<handle_judging_queue>, "Queries that this judge has not judged yet, and how well judges agree"},
    {"POST",
     "/v1/judgments/{domain}/results",
     "v1_judgments",
     {native, judge, Body::json, asks, normal},
     worker,
     with<handle_judging_results>,
     "Results of one query for judging, without their ranks"},
    {"POST", "/v1/judgments/{domain}/grades", "v1_judgments", changing(native, judge, Body::json, little),
     store_worker, with<handle_grades>, "Stores grades of results that were shown for judging"},
    {"GET", "/v1/analytics/{domain}", "v1_analytics", reads(native, admin, much), worker,
     with<handle_get_analytics>, "What was searched in a domain, as JSON or CSV"},
    {"GET", "/analytics", "analytics", reads(page, Access::search), inline_thread,
     with<handle_analytics_list>, "Page to choose a domain's analytics"},
    {"GET", "/analytics/{domain}", "analytics", reads(page, Access::search), inline_thread,
     with<handle_analytics_page>, "Page of a domain's analytics"},
    {"POST", "/analytics/{domain}", "analytics", changing(page, open, Body::form, much, kAnalyticsActions),
     worker, with<handle_analytics_form>,
     "Form of the analytics page: figures, CSV; needs a key with the role admin"},
    {"GET", "/judge", "judge", reads(page, Access::search), inline_thread, with<handle_judge_list>,
     "Page on which judges choose a domain"},
    {"GET", "/judge/{domain}", "judge", reads(page, Access::search), inline_thread, with<handle_judge_page>,
     "Page on which results are judged"},
    {"POST",
     "/judge/{domain}",
     "judge",
     {page, open, Body::form, asks, normal, kJudgeActions},
     worker,
     with<handle_judge_form>,
     "Form of the judging page: queue, results, grades, files; needs a key with the role judge"},
    {"GET", "/v1/documents/{domain}", "v1_documents", reads(native, write), store_worker,
     with<handle_get_documents>, "How many documents a domain's embedded index has, and how far it is"},
    {"PUT", "/v1/documents/{domain}", "v1_documents", changing(native, write, Body::json_or_lines, normal),
     worker, with<handle_put_documents>,
     "Adds a document to a domain's embedded index, or replaces the one of the same address"},
    {"POST", "/v1/documents/{domain}", "v1_documents", changing(native, write, Body::json_or_lines, normal),
     worker, with<handle_put_documents>, "Adds or replaces many documents, one per line"},
    {"DELETE", "/v1/documents/{domain}", "v1_documents", changing(native, write, Body::optional_json, normal),
     worker, with<handle_delete_documents>,
     "Removes documents from a domain's embedded index by their addresses"},
    {"GET", "/v1/curation/{domain}", "v1_curation", reads(native, admin), store_worker,
     with<handle_get_curation>, "A domain's pinned, hidden and added results by query, and its synonyms"},
    {"PUT", "/v1/curation/{domain}", "v1_curation", changing(native, admin, Body::json, normal), worker,
     with<handle_put_curation>, "Saves a domain's curation; needs If-Match"},
    {"GET", "/v1/curation/{domain}/versions", "v1_curation", reads(native, admin), store_worker,
     with<handle_curation_versions>, "Every saved version of a domain's curation, the latest first"},
    {"GET", "/v1/curation/{domain}/versions/{number}", "v1_curation", reads(native, admin), store_worker,
     with<handle_curation_version>, "One version, to be restored by PUT"},
    {"GET", "/curation", "curation", reads(page, Access::search), inline_thread, with<handle_curation_list>,
     "Page to choose a domain's curation"},
    {"GET", "/curation/{domain}", "curation", reads(page, Access::search), inline_thread,
     with<handle_curation_page>, "Page of a domain's curation"},
    {"POST", "/curation/{domain}", "curation", changing(page, open, Body::form, normal, kCurationActions),
     worker, with<handle_curation_form>,
     "Form of the curation page: pin, hide, add, synonyms; needs a key with the role admin"},
    {"GET", "/v1/models", "v1_models", reads(native, admin), store_worker, with<handle_get_models>,
     "Champion, challenger and versions of each domain, with the score of interleaving"},
    {"POST", "/v1/models/{name}/activate", "v1_models", changing(native, admin, Body::json, much), worker,
     with<handle_activate_model>,
     "Makes a version of a domain's model the champion, or restores the previous champion"},
    {"POST", "/v1/models/{name}/retrain", "v1_models", changing(native, admin, Body::optional_json, much),
     worker, with<handle_retrain_model>, "Trains a challenger from the stored feedback"},
    {"POST", "/v1/models/{name}/measure", "v1_models", changing(native, admin, Body::optional_json, much),
     worker, with<handle_measure_model>, "Compares the challenger with the champion on held-out judgments"},
    {"POST", "/v1/models/{name}/reset", "v1_models", changing(native, admin, Body::json, much), worker,
     with<handle_reset_feedback>, "Deletes a domain's clicks, judgments or both"},
    {"GET", "/models", "models", reads(page, Access::search), inline_thread, with<handle_model_page>,
     "Page of models"},
    {"POST", "/models/{name}", "models", changing(page, Access::search, Body::form, little, kModelActions),
     worker, with<handle_model_form>,
     "Form of the models page: champion and challenger, training, restoring; needs a key with the role "
     "admin"},
    {"GET", "/preferences", "preferences", reads(page), inline_thread, with<handle_get_preferences>,
     "Page of this browser's preferences"},
    {"POST", "/preferences", "preferences", changing(page, open, Body::form, little), inline_thread,
     with<handle_preferences>, "Saves this browser's preferences: language, theme, sites and more"},
    {"GET", "/config", "config", reads(searxng, Access::search), inline_thread, with<handle_searxng_config>,
     "The configuration that SearXNG's clients read before they search"},
    {"GET", "/autocompleter", "autocompleter", reads(searxng, Access::search), worker,
     with<handle_autocompleter>, "Completions of a query"},
    {"GET", "/suggest", "autocompleter", reads(searxng, Access::search), worker, with<handle_autocompleter>,
     "Completions of a query, for OpenSearch clients"},
    {"GET", "/opensearch.xml", "opensearch", reads(plain), inline_thread, with<handle_opensearch>,
     "OpenSearch description, from which a browser can add this search"},
    {"GET", "/openapi.json", "openapi", reads(plain), inline_thread, with<handle_openapi>,
     "This description, made from the table of routes"},
    {"GET", "/docs", "docs", reads(page), inline_thread, with<handle_docs>, "This description as a page"},
    {"GET", "/healthz", "healthz", reads(plain, open, nothing), inline_thread, with<handle_healthz>,
     "Whether the process is alive"},
    {"GET", "/readyz", "readyz", reads(plain, open, nothing), inline_thread, with<handle_readyz>,
     "Whether the process should get requests; 503 while it drains"},
    {"GET", "/metrics", "metrics", reads(plain, Access::metrics, nothing), inline_thread,
     with<handle_metrics>, "Prometheus metrics"},
    {"GET", "/static/{file}", "static", reads(plain), inline_thread, with<handle_static>,
     "Style sheet and script of the pages"},
};

/// Whether a path matches a pattern, segment by segment; collects the values of {name}.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& values) {
  values.clear();
  while (true) {
    const std::size_t pattern_end = pattern.find('/', 1);
    const std::size_t path_end = path.find('/', 1);
    const std::string_view want = pattern.substr(0, pattern_end);
    const std::string_view have = path.substr(0, path_end);
    if (want.size() > 2 && want[1] == '{') {
      if (have.size() < 2) return false;
      values.emplace_back(have.substr(1));
    } else if (want != have) {
      return false;
    }
    if (pattern_end == std::string_view::npos || path_end == std::string_view::npos)
      return pattern_end == path_end;
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

Match match_route(std::string_view method, std::string_view path) {
  Match match;
  const std::string_view wanted = method == "HEAD" ? std::string_view("GET") : method;
  for (const Route& route : kRoutes) {
    if (!matches(route.pattern, path, match.values)) continue;
    if (route.method == wanted) {
      match.route = &route;
      return match;
    }
    if (!match.allowed.empty()) match.allowed += ", ";
    match.allowed += route.method;
    if (route.method == "GET") match.allowed += ", HEAD";
  }
  return match;
}

Dialect error_dialect(const Route* route, const HttpRequest& request) {
  const Dialect spoken = dialect_of(request);
  if (route == nullptr || spoken == Dialect::tavily) return spoken;
  const auto format = request.parameter("format");
  const bool wants_page = spoken == Dialect::page && (!format || format->empty() || *format == "html");
  return route->name == "search" && wants_page ? Dialect::page : route->rules.dialect;
}

}  // namespace metafuse::service
