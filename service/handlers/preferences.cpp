#include <algorithm>

#include "service/handlers/handlers.h"
#include "service/http/head.h"
#include "service/search/shown_results.h"

namespace metafuse::service {
namespace {

void forget(SitePreferences& preferences, const std::string& site) {
  for (auto* list : {&preferences.raised, &preferences.lowered, &preferences.blocked})
    std::erase(*list, site);
}

}  // namespace

HttpResponse handle_preferences(const Exchange& exchange) {
  std::string back = form_value(exchange.form, "back");
  if (!back.starts_with("/search?") || back.find_first_of("\r\n") != std::string::npos)
    back = std::string("/");
  SitePreferences preferences = read_site_cookie(exchange.request.header("Cookie"));
  // The button that was pressed says what becomes of the site that is its value.
  for (const auto& [name, list] :
       {std::pair<std::string_view, std::vector<std::string>*>{"raise", &preferences.raised},
        {"lower", &preferences.lowered},
        {"block", &preferences.blocked},
        {"forget", nullptr}}) {
    const std::string site = form_value(exchange.form, name);
    if (site.empty()) continue;
    forget(preferences, site);
    if (list != nullptr) list->push_back(site);
  }
  HttpResponse response;
  response.status = 303;
  response.set("Location", back);
  response.set("Set-Cookie", set_site_cookie(preferences, exchange.is_https));
  return response;
}

}  // namespace metafuse::service
