#include "service/router.h"

#include "service/handlers/handlers.h"

namespace metafuse::service {
namespace {

using enum Dialect;
using enum Access;
using enum Where;

constexpr Route kRoutes[] = {
    {"GET", "/", "home", page, open, inline_thread, handle_home, nullptr, "The page with the search box"},
    {"GET", "/search", "search", searxng, Access::search, worker, handle_search, nullptr,
     "Search: the page, or SearXNG's JSON, CSV or RSS"},
    {"POST", "/search", "search", searxng, Access::search, worker, handle_post_search, nullptr,
     "Search in Tavily's dialect (JSON) or SearXNG's (form)"},
    {"POST", "/mcp", "mcp", Dialect::mcp, Access::search, worker, handle_mcp, nullptr,
     "Model Context Protocol, session and stateless form"},
    {"POST", "/v1/search", "v1_search", native, Access::search, worker, handle_native_search, nullptr,
     "Search with slots, query variants, deadline and explanation"},
    {"GET", "/v1/templates/{domain}", "v1_templates", native, open, inline_thread, handle_get_templates,
     nullptr, "The search templates of a domain"},
    {"PUT", "/v1/templates/{domain}", "v1_templates", native, admin, worker, handle_put_templates, nullptr,
     "Saves a domain's templates; needs If-Match"},
    {"POST", "/v1/templates/{domain}/preview", "v1_preview", native, Access::search, worker,
     handle_preview_templates, nullptr,
     "What a base query becomes under edited templates, with live lists on request"},
    {"GET", "/v1/templates/{domain}/versions", "v1_versions", native, admin, worker, handle_template_versions,
     nullptr, "Every saved version of a domain's templates, the latest first"},
    {"GET", "/v1/templates/{domain}/versions/{number}", "v1_versions", native, admin, worker,
     handle_template_version, nullptr, "One version, with its text"},
    {"POST", "/v1/templates/{domain}/versions/{number}/revert", "v1_versions", native, admin, worker,
     handle_revert_templates, nullptr, "Makes a version the domain's templates again; needs If-Match"},
    {"GET", "/templates", "templates", page, open, inline_thread, handle_template_list, nullptr,
     "The page of all domains"},
    {"GET", "/templates/{domain}", "templates", page, open, worker, handle_template_editor, nullptr,
     "The editor of a domain's templates"},
    {"POST", "/templates/{domain}", "templates", page, Access::search, worker, handle_template_form, nullptr,
     "The editor's form: preview, live lists, save, versions"},
    {"GET", "/v1/evaluation", "v1_evaluation", native, open, worker, handle_get_evaluation, nullptr,
     "The last offline reports"},
    {"GET", "/evaluation", "evaluation", page, open, worker, handle_evaluation_page, nullptr,
     "The last offline reports as tables and plots"},
    {"GET", "/v1/search/stream", "v1_stream", native, Access::search, worker, nullptr, stream_search,
     "The same search as server-sent events, re-fused as lists arrive"},
    {"POST", "/v1/feedback", "v1_feedback", native, Access::search, worker, handle_feedback, nullptr,
     "A click or a judgment on a result that was shown"},
    {"GET", "/v1/models", "v1_models", native, admin, worker, handle_get_models, nullptr,
     "Champion, challenger and versions of each domain, with the interleaving's score"},
    {"POST", "/v1/models/{name}/activate", "v1_models", native, admin, worker, handle_activate_model, nullptr,
     "Makes a version of a domain's model the champion, or goes one step back"},
    {"POST", "/v1/models/{name}/retrain", "v1_models", native, admin, worker, handle_retrain_model, nullptr,
     "Trains a challenger from what is stored"},
    {"POST", "/v1/models/{name}/measure", "v1_models", native, admin, worker, handle_measure_model, nullptr,
     "Compares the challenger with the champion on held-out judgments"},
    {"POST", "/v1/models/{name}/reset", "v1_models", native, admin, worker, handle_reset_feedback, nullptr,
     "Forgets a domain's clicks, judgments or both"},
    {"GET", "/models", "models", page, open, inline_thread, handle_model_page, nullptr, "The page of models"},
    {"POST", "/models/{name}", "models", page, Access::search, worker, handle_model_form, nullptr,
     "The page's form: champion and challenger, training, one step back; needs an admin's key"},
    {"POST", "/preferences", "preferences", page, open, inline_thread, handle_preferences, nullptr,
     "Raises, lowers or blocks a site for this browser"},
    {"GET", "/config", "config", searxng, open, inline_thread, handle_searxng_config, nullptr,
     "What SearXNG's clients ask before they search"},
    {"GET", "/autocompleter", "autocompleter", searxng, Access::search, inline_thread, handle_autocompleter,
     nullptr, "Completions of a query"},
    {"GET", "/suggest", "autocompleter", searxng, Access::search, inline_thread, handle_autocompleter,
     nullptr, "Completions of a query, as OpenSearch names them"},
    {"GET", "/opensearch.xml", "opensearch", plain, open, inline_thread, handle_opensearch, nullptr,
     "OpenSearch description, with which a browser can add this search"},
    {"GET", "/openapi.json", "openapi", plain, open, inline_thread, handle_openapi, nullptr,
     "This description, made from the table of routes"},
    {"GET", "/healthz", "healthz", plain, open, inline_thread, handle_healthz, nullptr,
     "Whether the process lives"},
    {"GET", "/readyz", "readyz", plain, open, inline_thread, handle_readyz, nullptr,
     "Whether it should get requests; 503 while it drains"},
    {"GET", "/metrics", "metrics", plain, Access::metrics, worker, handle_metrics, nullptr,
     "Prometheus metrics"},
    {"GET", "/static/{file}", "static", plain, open, inline_thread, handle_static, nullptr,
     "The page's style sheet and script"},
};

/// Matches one pattern, segment by segment.
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

}  // namespace metafuse::service
