#include "service/answers/page.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <ctemplate/template.h>
#include <ctemplate/template_cache.h>
#include <ctemplate/template_dictionary.h>

#include "core/contract.h"
#include "core/utf8.h"
#include "service/answers/reasons.h"
#include "service/base/addresses.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

/// The pages, parsed once. ctemplate knows from the HTML around a value how it must be escaped, and replaces
/// URLs of other schemes than http, https, ftp and mailto.
const ctemplate::TemplateCache& parsed_pages() {
  static const std::unique_ptr<ctemplate::TemplateCache> cache = [] {
    auto made = std::make_unique<ctemplate::TemplateCache>();
    const std::string head(page_file("layout_head.html"));
    const std::string foot(page_file("layout_foot.html"));
    for (const PageFile& file : page_files()) {
      if (!file.name.ends_with(".html") || file.name.starts_with("layout_")) continue;
      const std::string name(file.name.substr(0, file.name.size() - 5));
      const std::string text = "{{%AUTOESCAPE context=\"HTML\"}}" + head + std::string(file.content) + foot;
      const bool is_parsed = made->StringToTemplateCache(name, text, ctemplate::STRIP_WHITESPACE);
      require(is_parsed, "a page's template does not parse");
    }
    made->Freeze();
    return made;
  }();
  return *cache;
}

void fill(const View& view, ctemplate::TemplateDictionary& dictionary) {
  for (const auto& [name, value] : view.values) dictionary.SetValue(name, value);
  for (const auto& [name, part] : view.parts) fill(part, *dictionary.AddSectionDictionary(name));
}

}  // namespace

std::string_view page_file(std::string_view name) {
  for (const PageFile& file : page_files())
    if (file.name == name) return file.content;
  return {};
}

std::string render_page(std::string_view page, const View& view) {
  ctemplate::TemplateDictionary dictionary("page");
  fill(view, dictionary);
  std::string out;
  const bool is_done =
      parsed_pages().ExpandNoLoad(std::string(page), ctemplate::STRIP_WHITESPACE, &dictionary, nullptr, &out);
  require(is_done, "no such page");
  return out;
}

namespace {

constexpr std::size_t kMaxSnippetBytes = 320;
/// Of the markup of all explanations of a page together, so that 30 results of 16 lists stay below 60 KB.
constexpr std::size_t kReasonBytes = 30000;
constexpr std::size_t kRowBytes = 36;
constexpr std::size_t kFewestReasons = 6;
constexpr int kBarSteps = 20;
constexpr std::size_t kMaxSuggestions = 8;
constexpr std::size_t kMaxNamedEngines = 4;

std::string cut(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  return std::string(truncate_utf8(text, bytes)) + "…";
}

/// How many rows each explanation may have when `shown` results stand on a page.
std::size_t reasons_each(const SearchAnswer& answer, std::size_t shown) {
  std::size_t bytes = 0;
  for (const fusion::Feature& feature : answer.features) bytes += feature.name.size() + kRowBytes;
  const std::size_t lists = answer.features.size();
  if (bytes == 0 || shown == 0) return kFewestReasons;
  return std::max(kFewestReasons, kReasonBytes * lists / (bytes * shown));
}

/// "e1 #2, e2 #5 · in 7 lists": the best rank of each engine.
std::string engines_text(const SearchAnswer& answer, const FusedResult& result) {
  std::vector<std::pair<std::string, int>> engines;
  for (const Placement& place : result.placements) {
    const std::string& engine = answer.lists[place.feature].query.engine;
    const auto at =
        std::find_if(engines.begin(), engines.end(), [&](const auto& item) { return item.first == engine; });
    if (at == engines.end())
      engines.emplace_back(engine, place.rank);
    else
      at->second = std::min(at->second, place.rank);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(engines.size(), kMaxNamedEngines); ++i)
    out += (i == 0 ? "" : ", ") + engines[i].first + " #" + std::to_string(engines[i].second);
  if (engines.size() > kMaxNamedEngines)
    out += " and " + std::to_string(engines.size() - kMaxNamedEngines) + " more";
  const std::size_t lists = result.placements.size();
  return out + " · in " + std::to_string(lists) + (lists == 1 ? " list" : " lists");
}

void add_reasons(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                 std::size_t most_rows, View& view) {
  const auto reasons = reasons_of(domain, answer, result);
  double most = 0;
  for (const Reason& reason : reasons) most = std::max(most, std::fabs(reason.weight.value_or(0.0)));
  for (std::size_t i = 0; i < std::min(reasons.size(), most_rows); ++i) {
    const Reason& reason = reasons[i];
    const double weight = std::max(0.0, reason.weight.value_or(0.0));
    const int bar = most > 0 ? static_cast<int>(std::lround(kBarSteps * weight / most)) : 0;
    view.add("WHY")
        .set("F", reason.feature)
        .set("R", reason.rank > 0 ? std::to_string(reason.rank) : "–")
        .set("B", std::to_string(bar))
        .set("W", weight_text(reason));
  }
  if (reasons.size() > most_rows)
    view.add("REST").set("TEXT", "and " + std::to_string(reasons.size() - most_rows) + " lighter ones");
}

/// What the online reranker did with a result.
std::string moved_text(const SearchAnswer& answer, const FusedResult& result) {
  if (result.moved_from == 0) return {};
  return "; place " + std::to_string(result.moved_from) + " before what was learned online from " +
         std::to_string(answer.fusion.online_steps) + " examples of feedback";
}

void add_result(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                std::size_t most_rows, View& page) {
  View& view = page.add("RESULT");
  view.set("URL", result.hit.url).set("URL_TEXT", cut(result.hit.url, 140));
  view.set("TITLE", result.hit.title.empty() ? cut(result.hit.url, 140) : cut(result.hit.title, 200));
  if (!result.hit.snippet.empty()) view.add("SNIPPET").set("TEXT", cut(result.hit.snippet, kMaxSnippetBytes));
  const std::string date =
      result.hit.published.empty() ? std::string() : " · " + result.hit.published.substr(0, 10);
  view.set("BY", engines_text(answer, result) + date);
  view.set("SCORE", "Score " + short_number(result.score) + " by " + answer.fusion.method +
                        moved_text(answer, result));
  add_reasons(domain, answer, result, most_rows, view);
  if (const std::string host = host_of(result.hit.url); !host.empty()) view.add("SITE").set("HOST", host);
}

void add_failures(const SearchAnswer& answer, View& page) {
  std::size_t count = 0;
  for (const auto& list : answer.lists) count += list.has_failed() ? 1 : 0;
  if (count == 0) return;
  View& view = page.add("FAILED");
  view.set("COUNT", std::to_string(count) + " of " + std::to_string(answer.lists.size()) +
                        " lists are missing from this answer: " + failed_engines(answer));
  for (const auto& list : answer.lists)
    if (list.has_failed())
      view.add("LIST").set("FEATURE", list.query.feature_name()).set("WHY", failure_text(list));
}

std::string summary_of(const SearchAnswer& answer) {
  const double ms = (answer.fetch_seconds + answer.fuse_seconds) * 1e3;
  return std::to_string(answer.results.size()) + " results from " + std::to_string(answer.lists.size()) +
         " lists, fused by " + answer.fusion.method +
         (answer.fusion.version.empty() ? "" : " (model " + answer.fusion.version + ")") + " in " +
         std::to_string(std::lround(ms)) + " ms";
}

void add_suggestions(const SearchAnswer& answer, View& page) {
  if (answer.suggestions.empty()) return;
  View& suggestions = page.add("SUGGESTIONS");
  for (std::size_t i = 0; i < std::min(kMaxSuggestions, answer.suggestions.size()); ++i)
    suggestions.add("SUGGESTION").set("TEXT", answer.suggestions[i]).set("DOMAIN_NAME", answer.domain);
}

void add_preferences(const SitePreferences& preferences, View& page) {
  if (preferences.is_empty()) return;
  View& list = page.add("PREFERENCES");
  const auto add = [&](const char* what, const std::vector<std::string>& sites) {
    for (const std::string& site : sites) list.add("PREFERENCE").set("HOST", site).set("WHAT", what);
  };
  add("raised", preferences.raised);
  add("lowered", preferences.lowered);
  add("blocked", preferences.blocked);
}

}  // namespace

View page_view(const Exchange* exchange, std::string_view title, std::string_view query,
               std::string_view domain) {
  View view;
  view.set("TITLE", title).set("QUERY", query);
  if (exchange == nullptr) return view;
  const auto usable = exchange->domains();
  if (usable.empty()) return view;
  const LoadedDomain* chosen = exchange->find_domain(domain);
  View& domains = view.add("DOMAINS");
  for (const LoadedDomain* item : usable) {
    View& option = domains.add("DOMAIN");
    option.set("NAME", item->domain.name);
    if (item == chosen) option.add("SELECTED");
  }
  return view;
}

std::string fused_by(const LoadedDomain& domain) {
  return domain.model ? domain.model->learner + " (model " + domain.model_digest.substr(0, 12) + ")"
                      : "rrf, since it has no model";
}

std::string home_page(const Exchange& exchange) {
  View view = page_view(&exchange, "metafuse", "", "");
  view.add("FOCUS");
  const LoadedDomain* domain = exchange.find_domain("");
  if (domain == nullptr) return render_page("home", view);
  view.set("DEFAULT_DOMAIN", domain->domain.name).set("DESCRIPTION", domain->domain.description);
  if (domain->domain.slots.size() < 2) return render_page("home", view);
  View& slots = view.add("SLOTS");
  slots.set("NAME", domain->domain.name);
  for (const templates::Slot& slot : domain->domain.slots) {
    View& item = slots.add("SLOT");
    item.set("SLOT_NAME", slot.name)
        .set("MEANING", slot.is_required ? slot.description + " (required)" : slot.description);
    if (slot.is_required) item.add("REQUIRED");
  }
  return render_page("home", view);
}

std::string results_page(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request) {
  const LoadedDomain& domain = *exchange.snapshot->find_domain(answer.domain);
  const ShownResults& shown = *request.shown;
  View view = page_view(&exchange, answer.query + " – metafuse", answer.query, answer.domain);
  view.set("SUMMARY", summary_of(answer)).set("FIRST", std::to_string(shown.first + 1));
  view.set("SEARCH_ID", shown.search_id);
  view.set("BACK", "/search?" + request.target);
  if (!answer.fusion.notice.empty()) view.add("NOTICE").set("TEXT", answer.fusion.notice);
  add_failures(answer, view);
  add_suggestions(answer, view);
  if (shown.positions.empty()) view.add("NOTHING");
  const std::size_t most_rows = reasons_each(answer, shown.positions.size());
  for (const std::size_t at : shown.positions)
    add_result(domain, answer, answer.results[at], most_rows, view);
  add_preferences(*request.preferences, view);
  const int page = request.parameters->search.page;
  const auto link = [&](int to) { return "/search?" + request.target + "&pageno=" + std::to_string(to); };
  if (page > 1) view.add("PAGE").set("NUMBER", std::to_string(page));
  if (page > 1) view.add("PREVIOUS").set("URL", link(page - 1));
  if (shown.first + shown.positions.size() < shown.total || may_hold_more(answer, domain.domain.depth))
    view.add("NEXT").set("URL", link(page + 1));
  return render_page("search", view);
}

std::string error_page(int status, std::string_view text) {
  View view = page_view(nullptr, std::string(reason_of(status)) + " – metafuse", "", "");
  view.set("STATUS", std::to_string(status)).set("REASON", reason_of(status)).set("TEXT", text);
  return render_page("error", view);
}

}  // namespace metafuse::service
