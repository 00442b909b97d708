#include "service/pages/page.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <ctemplate/template.h>
#include <ctemplate/template_cache.h>
#include <ctemplate/template_dictionary.h>
#include <fmt/format.h>

#include "core/contract.h"
#include "core/encoding.h"
#include "core/languages.h"
#include "service/http/head.h"
#include "service/http/message.h"

namespace metafuse::service {
namespace {

/// The text with each `{{@NAME}}` replaced by the file part_NAME.html.
std::string with_parts(std::string text) {
  constexpr std::string_view kOpen = "{{@";
  for (std::size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    const std::size_t end = text.find("}}", at);
    require(end != std::string::npos, "a page names its parts in whole marks");
    const std::string_view part =
        page_file("part_" + text.substr(at + kOpen.size(), end - at - kOpen.size()) + ".html");
    require(!part.empty(), "a page's parts are there");
    text.replace(at, end + 2 - at, part);
  }
  return text;
}

/// The pages of administrators and judges, which share a navigation bar.
constexpr std::array<std::string_view, 10> kOperatorPages = {
    "curation", "curation_list", "analytics", "analytics_list",  "evaluation",
    "judge",    "judge_list",    "models",    "template_editor", "templates"};

/// The pages, parsed once. ctemplate escapes each value by the HTML around it, and replaces URLs whose scheme
/// is not http, https, ftp or mailto.
const ctemplate::TemplateCache& parsed_pages() {
  static const std::unique_ptr<ctemplate::TemplateCache> cache = [] {
    auto made = std::make_unique<ctemplate::TemplateCache>();
    const std::string head(page_file("layout_head.html"));
    const std::string foot(page_file("layout_foot.html"));
    const std::string navigation(page_file("layout_operators.html"));
    for (const PageFile& file : page_files()) {
      if (!file.name.ends_with(".html") || file.name.starts_with("layout_") || file.name.starts_with("part_"))
        continue;
      const std::string name(file.name.substr(0, file.name.size() - 5));
      const bool is_operators =
          std::find(kOperatorPages.begin(), kOperatorPages.end(), name) != kOperatorPages.end();
      const std::string text =
          "{{%AUTOESCAPE context=\"HTML\"}}" +
          with_parts(head + (is_operators ? navigation : "") + std::string(file.content) + foot);
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

View page_view(const Exchange* exchange, std::string_view title, std::string_view query,
               std::string_view domain) {
  View view;
  view.set("TITLE", title).set("QUERY", query);
  if (exchange == nullptr) return view;
  if (const std::string& theme = exchange->preferences.theme; !theme.empty())
    view.add("THEME").set("NAME", theme);
  const LoadedDomain* chosen = exchange->find_domain(domain);
  if (chosen != nullptr && exchange->domains().size() > 1)
    view.add("OF_DOMAIN").set("NAME", chosen->domain.name);
  return view;
}

void add_tabs(const Exchange& exchange, const LoadedDomain& here, std::string_view query, View& page) {
  const auto domains = exchange.domains();
  if (domains.size() < 2) return;
  View& tabs = page.add("TABS");
  for (const LoadedDomain* domain : domains) {
    View& tab = tabs.add("TAB");
    const std::string there = "domain=" + percent_encoded(domain->domain.name);
    tab.set("NAME", domain->domain.name).set("MEANING", domain->domain.description);
    tab.set("URL", query.empty() ? "/?" + there : "/search?q=" + percent_encoded(query, true) + '&' + there);
    if (domain == &here) tab.add("HERE");
  }
}

void add_slots_form(const LoadedDomain& domain, const BaseQuery& slots, View& page) {
  if (domain.domain.slots.size() < 2) return;
  View& form = page.add("SLOTS");
  form.set("NAME", domain.domain.name);
  for (const templates::Slot& slot : domain.domain.slots) {
    const auto given = slots.slots.find(slot.name);
    const std::string value = given == slots.slots.end() ? std::string() : given->second;
    View& item = form.add("SLOT");
    item.set("SLOT_NAME", slot.name).set("LABEL", templates::label_of(slot)).set("MEANING", slot.description);
    View& field = item.add(slot.values.empty() ? "FREE" : "CHOICE");
    field.set("SLOT_NAME", slot.name).set("VALUE", value);
    if (slot.is_required) field.add("REQUIRED");
    for (const std::string& choice : slot.values) {
      View& option = field.add("OPTION");
      option.set("TEXT", choice);
      if (choice == value) option.add("SELECTED");
    }
  }
}

std::string domain_list_page(const Exchange& exchange, std::string_view page, std::string_view title) {
  View view = page_view(&exchange, title, "", "");
  for (const LoadedDomain* domain : exchange.domains())
    view.add("ITEM").set("NAME", domain->domain.name).set("DESCRIPTION", domain->domain.description);
  return render_page(page, view);
}

void add_sites(const SitePreferences& sites, std::string_view part, View& page) {
  const auto add = [&](const char* what, const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) page.add(part).set("HOST", host).set("WHAT", what);
  };
  add("raised", sites.raised);
  add("lowered", sites.lowered);
  add("blocked", sites.blocked);
}

void add_story(const LearningStory& story, View& page) {
  if (story.gain.empty() && story.decision.empty()) return;
  View& view = page.add("STORY").set("GAIN", story.gain);
  if (!story.decision.empty()) view.add("DECIDED").set("TEXT", story.decision);
  if (story.changes.empty()) return;
  View& changes = view.add("CHANGES");
  for (const std::string& change : story.changes) changes.add("CHANGE").set("TEXT", change);
}

std::string fused_by(const LoadedDomain& domain) {
  if (domain.is_model_prior)
    return fmt::format("what {} learned, since it has no model of its own",
                       fmt::join(domain.prior->sources, ", "));
  return domain.model ? domain.model->learner + " (model " + domain.model_digest.substr(0, 12) + ")"
                      : "rrf, since it has no model";
}

std::string home_page(const Exchange& exchange, const LoadedDomain* domain) {
  View view = page_view(&exchange, "metafuse", "", domain == nullptr ? "" : domain->domain.name);
  view.add("FOCUS");
  if (domain == nullptr && exchange.snapshot->domains.empty()) view.add("NO_DOMAIN");
  if (domain == nullptr) return render_page("home", view);
  const std::string& description = domain->domain.description;
  view.set("HEADING", description.empty() ? "Search " + domain->domain.name : description);
  add_tabs(exchange, *domain, "", view);
  add_slots_form(*domain, {}, view);
  return render_page("home", view);
}

namespace {

/// One option of a preference. The first of each list below is the default.
struct Choice {
  std::string_view value, text;
};

constexpr Choice kSafeSearch[] = {{"0", "off"}, {"1", "moderate"}, {"2", "strict"}};
constexpr Choice kPageSizes[] = {{"", "30"}, {"10", "10"}, {"20", "20"}, {"50", "50"}, {"100", "100"}};
constexpr Choice kThemes[] = {{"", "as the system"}, {"light", "light"}, {"dark", "dark"}};

void add_choices(std::span<const Choice> choices, std::string_view chosen, std::string_view name,
                 View& page) {
  bool is_listed = false;
  const auto add = [&](std::string_view value, std::string_view text) {
    View& option = page.add(name);
    option.set("VALUE", value).set("TEXT", text);
    if (value == chosen) option.add("SELECTED");
    is_listed = is_listed || value == chosen;
  };
  for (const Choice& choice : choices) add(choice.value, choice.text);
  if (!is_listed) add(chosen, chosen);
}

std::vector<Choice> language_choices() {
  std::vector<Choice> choices{{"", "the engines' own"}};
  for (const Language& language : known_languages()) choices.push_back({language.tag, language.own_name});
  return choices;
}

}  // namespace

std::string preferences_page(const Exchange& exchange, const Preferences& preferences,
                             const PreferencesRequest& request) {
  const Preferences& shown = request.offered == nullptr ? preferences : *request.offered;
  View view = page_view(&exchange, "Preferences – metafuse", "", "");
  if (request.is_saved) view.add("SAVED");
  if (request.offered != nullptr) view.add("OFFERED");
  if (!request.site.empty()) view.add("ONE_SITE").set("HOST", request.site).set("BACK", request.back);
  add_choices(language_choices(), shown.language, "LANGUAGE", view);
  add_choices(kSafeSearch, std::to_string(shown.safe_search), "SAFE", view);
  add_choices(kPageSizes, shown.results == 0 ? "" : std::to_string(shown.results), "RESULTS", view);
  add_choices(kThemes, shown.theme, "COLOURS", view);
  if (shown.opens_new_tab) view.add("NEW_TAB");
  view.set("SITES", sites_text(shown.sites));
  add_sites(shown.sites, "SITE", view);
  if (shown.sites.is_empty()) view.add("NO_SITES");
  view.set("LINK", exchange.origin() + "/preferences?set=" + percent_encoded(preferences_text(shown)));
  return render_page("preferences", view);
}

std::string error_page(int status, std::string_view text) {
  View view = page_view(nullptr, std::string(reason_of(status)) + " – metafuse", "", "");
  view.set("STATUS", std::to_string(status)).set("REASON", reason_of(status)).set("TEXT", text);
  return render_page("error", view);
}

}  // namespace metafuse::service
