#include <algorithm>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/url.h"
#include "service/api/handlers.h"
#include "service/base/metrics.h"
#include "service/http/head.h"
#include "service/http/preferences.h"
#include "service/learning/evaluation_reports.h"
#include "service/learning/records.h"
#include "service/pages/handlers.h"
#include "service/pages/learning_pages.h"
#include "service/pages/page.h"
#include "service/search/shown_results.h"

// The home page, preferences and evaluation pages, and static files.

namespace metafuse::service {
namespace {

std::string_view type_of(std::string_view file) {
  if (file.ends_with(".css")) return "text/css; charset=utf-8";
  if (file.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (file.ends_with(".svg")) return "image/svg+xml; charset=utf-8";
  return {};
}

}  // namespace

HttpResponse handle_home(const Exchange& exchange) {
  const LoadedDomain* domain = exchange.find_domain(exchange.request.parameter("domain").value_or(""));
  if (domain == nullptr) domain = exchange.find_domain("");
  return html_response(home_page(exchange, domain));
}

Answered handle_static(const Exchange& exchange) {
  const std::string& name = exchange.path_values.front();
  const Snapshot& snapshot = *exchange.snapshot;
  const std::string own_styles = brand_styles(snapshot.config.branding);
  const bool is_logo = name.starts_with("logo.") && !snapshot.logo.empty() &&
                       snapshot.config.branding.logo.ends_with(name.substr(4));
  const std::string_view type = is_logo ? picture_type_of(name) : type_of(name);
  const std::string_view content = is_logo               ? std::string_view(snapshot.logo)
                                   : name == "brand.css" ? std::string_view(own_styles)
                                                         : page_file(name);
  if (type.empty() || content.empty()) return refusal(404, "no such file");
  HttpResponse response = make_response(200, type, std::string(content));
  set_etag(exchange.request, sha256_hex(content).substr(0, 16), response);
  // what an operator may change is asked for again each time
  response.set("Cache-Control", is_logo || name == "brand.css" ? "no-cache" : "public, max-age=3600");
  // the client scripts are meant for other sites' pages
  if (name.starts_with("metafuse-")) response.set("Cross-Origin-Resource-Policy", "cross-origin");
  return response;
}

namespace {

void forget(SitePreferences& preferences, const std::string& site) {
  for (auto* list : {&preferences.raised, &preferences.lowered, &preferences.blocked})
    std::erase(*list, site);
}

/// `target` if it is a results page or the preferences page; else the home page.
std::string way_back(std::string_view target) {
  const bool is_ours = target.starts_with("/search?") || target == "/preferences";
  return is_ours && target.find_first_of("\r\n") == std::string_view::npos ? std::string(target)
                                                                           : std::string("/");
}

}  // namespace

HttpResponse handle_get_preferences(const Exchange& exchange) {
  const auto set = exchange.request.parameter("set");
  const Preferences offered = read_preferences_text(set.value_or(""));
  PreferencesRequest page;
  if (set) page.offered = &offered;
  page.is_saved = exchange.request.parameter("saved").has_value();
  const std::string site = ascii_host(exchange.request.parameter("site").value_or(""));
  if (is_site(site)) page.site = site;
  std::string_view from = exchange.request.header("Referer");
  const std::string origin = exchange.origin();
  if (from.starts_with(origin)) page.back = way_back(from.substr(origin.size()));
  HttpResponse response = html_response(preferences_page(exchange, exchange.preferences, page));
  response.set("Cache-Control", "no-store");
  return response;
}

Answered handle_preferences(const Exchange& exchange) {
  std::string back = way_back(form_value(exchange.form, "back"));
  Preferences preferences = exchange.preferences;
  if (!form_value(exchange.form, "save").empty()) {
    preferences = read_preferences_form(exchange.form);
    back = "/preferences?saved=1";
  }
  SitePreferences& sites = preferences.sites;
  // The pressed button's name is the action, its value the site.
  for (const auto& [name, list] :
       {std::pair<std::string_view, std::vector<std::string>*>{"raise", &sites.raised},
        {"lower", &sites.lowered},
        {"block", &sites.blocked},
        {"forget", nullptr}}) {
    const std::string site = form_value(exchange.form, name);
    if (site.empty()) continue;
    forget(sites, site);
    if (list != nullptr) list->push_back(site);
  }
  if (sites.raised.size() + sites.lowered.size() + sites.blocked.size() > kMaxSites)
    return refusal(400, fmt::format("a browser keeps at most {} sites; forget one of them first", kMaxSites));
  if (!fits_in_cookie(preferences))
    return refusal(400,
                   "the names of the sites are too long for a browser's cookie; forget one of them first");
  HttpResponse response;
  response.status = 303;
  response.set("Location", back);
  response.set("Set-Cookie", set_preferences_cookie(preferences, exchange.is_https));
  return response;
}

Answered handle_evaluation_page(Records& records, Metrics& metrics, Log& log, const Exchange& exchange) {
  const LoadedDomain* domain = exchange.find_domain(exchange.request.parameter("domain").value_or(""));
  if (domain == nullptr) return refusal(404, "no such domain");
  const auto report = records.reports.read(exchange.snapshot->config.reports, domain->domain.name);
  std::string problem = report ? "" : report.error().text;
  if (const std::string folder = exchange.snapshot->config.reports + "/"; problem.starts_with(folder))
    problem.erase(0, folder.size());  // the file's location must not be revealed
  if (!report)
    log.write(Log::Level::error, "reports cannot be read",
              {{"domain", domain->domain.name}, {"reason", report.error().text}});
  return html_response(evaluation_page(exchange, *domain, report ? **report : EvaluationReport(),
                                       latencies_for(exchange, metrics), problem));
}

}  // namespace metafuse::service
