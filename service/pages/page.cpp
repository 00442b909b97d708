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
#include "core/digest.h"
#include "core/encoding.h"
#include "core/languages.h"
#include "fusion/training/learned_from.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/pages/texts.h"
#include "service/search/search_requests.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kPartMark = "{{@";
constexpr std::string_view kTextMark = "{{~";

/// The text with each mark `{{@NAME}}` or `{{~NAME}}` replaced by what `get` has for the name.
template <class Get>
std::string with_marks(std::string text, std::string_view open, const Get& get) {
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const std::size_t end = text.find("}}", at);
    require(end != std::string::npos, "a page has whole marks");
    const std::string_view filling = get(text.substr(at + open.size(), end - at - open.size()));
    text.replace(at, end + 2 - at, filling);
    if (open == kTextMark) at += filling.size();
  }
  return text;
}

std::string_view part_of_page(const std::string& name) {
  const std::string_view part = page_file("part_" + name + ".html");
  require(!part.empty(), "a page's parts are there");
  return part;
}

/// The pages of administrators and judges, which share a navigation bar.
constexpr std::array<std::string_view, 11> kOperatorPages = {
    "curation", "curation_list", "analytics", "analytics_list",  "evaluation", "engines",
    "judge",    "judge_list",    "models",    "template_editor", "templates"};

/// The readers' pages, which are translated. The others are in English.
constexpr std::array<std::string_view, 5> kReaderPages = {"error", "home", "preferences", "search",
                                                          "unsearchable"};

bool is_among(std::span<const std::string_view> pages, std::string_view name) {
  return std::find(pages.begin(), pages.end(), name) != pages.end();
}

/// The name under which a page is kept in one language.
std::string name_in(std::string_view page, std::string_view language) {
  return std::string(page) + '.' + std::string(language);
}

/// Changes with the styles and scripts, so that a browser asks for new ones after an upgrade.
std::string styles_version() {
  std::string files;
  for (const char* name : {"metafuse.css", "metafuse.js", "operate.js"}) files += page_file(name);
  return sha256_hex(files).substr(0, 8);
}

void parse_page(std::string_view name, const Texts& texts, ctemplate::TemplateCache& cache) {
  const std::string page =
      std::string(page_file("layout_head.html")) +
      std::string(is_among(kOperatorPages, name) ? page_file("layout_operators.html") : "") +
      std::string(page_file(std::string(name) + ".html")) + std::string(page_file("layout_foot.html"));
  const std::string whole = with_marks(page, kPartMark, part_of_page);
  const std::string version = styles_version();
  const std::string text = with_marks(whole, kTextMark, [&](const std::string& key) {
    return key == "version" ? std::string_view(version) : texts.raw(key);
  });
  const bool is_parsed = cache.StringToTemplateCache(
      name_in(name, texts.tag), "{{%AUTOESCAPE context=\"HTML\"}}" + text, ctemplate::STRIP_WHITESPACE);
  require(is_parsed, "a page's template does not parse");
}

/// The pages, parsed once. ctemplate escapes each value by the HTML around it, and replaces URLs whose scheme
/// is not http, https, ftp or mailto.
const ctemplate::TemplateCache& parsed_pages() {
  static const std::unique_ptr<ctemplate::TemplateCache> cache = [] {
    auto made = std::make_unique<ctemplate::TemplateCache>();
    for (const PageFile& file : page_files()) {
      if (!file.name.ends_with(".html") || file.name.starts_with("layout_") || file.name.starts_with("part_"))
        continue;
      const std::string_view name = file.name.substr(0, file.name.size() - 5);
      for (const Texts& texts : all_texts())
        if (texts.english == nullptr || is_among(kReaderPages, name)) parse_page(name, texts, *made);
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
  const std::string name = name_in(page, is_among(kReaderPages, page) ? texts_in(view.language).tag : "en");
  const bool is_done =
      parsed_pages().ExpandNoLoad(name, ctemplate::STRIP_WHITESPACE, &dictionary, nullptr, &out);
  require(is_done, "no such page");
  return out;
}

namespace {

/// The ending of a logo's file, by which its type is known: "logo.svg".
std::string logo_file(const BrandingConfig& branding) {
  return "logo" + branding.logo.substr(branding.logo.rfind('.'));
}

void add_branding(const BrandingConfig& branding, View& view) {
  view.set("BRAND", branding.name);
  if (branding.logo.empty())
    view.add("NO_LOGO").set("TEXT", branding.name);
  else
    view.add("LOGO").set("FILE", logo_file(branding)).set("ALT", branding.name);
  if (!branding.colour.empty()) view.add("COLOUR");
  if (!branding.footer.empty()) view.add("FOOTER").set("TEXT", branding.footer);
}

}  // namespace

std::string brand_styles(const BrandingConfig& branding) {
  if (branding.colour.empty()) return {};
  return ":root{--brand:" + branding.colour + ";--mark:" + branding.colour + "}\n";
}

View page_view(const Exchange* exchange, std::string_view title, std::string_view query,
               std::string_view domain) {
  const BrandingConfig usual;
  const BrandingConfig& branding = exchange == nullptr ? usual : exchange->snapshot->config.branding;
  View view;
  view.set("TITLE", title.empty() ? branding.name : std::string(title) + " – " + branding.name);
  view.set("QUERY", query);
  add_branding(branding, view);
  if (exchange == nullptr) return view;
  view.language = page_language(exchange->preferences, exchange->request.header("Accept-Language"));
  if (const std::string& theme = exchange->preferences.theme; !theme.empty())
    view.add("THEME").set("NAME", theme);
  if (exchange->key == nullptr && exchange->snapshot->config.needs_key)
    return view;  // without domains' names
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

namespace {

/// Adds the field of one slot, in the form that `name` is a field of.
View& add_slot(const templates::Slot& slot, const std::string& name, const BaseQuery& slots, View& form) {
  const auto given = slots.slots.find(slot.name);
  const std::string value = given == slots.slots.end() ? std::string() : given->second;
  View& item = form.add("SLOT");
  item.set("SLOT_NAME", slot.name).set("LABEL", templates::label_of(slot)).set("MEANING", slot.description);
  View& field = item.add(slot.values.empty() ? "FREE" : "CHOICE");
  field.set("SLOT_NAME", slot.name).set("FIELD", name).set("VALUE", value);
  if (slot.values.empty()) return field;
  const auto add = [&](const std::string& choice) {
    View& option = field.add("OPTION").set("TEXT", choice);
    if (choice == value) option.add("SELECTED");
  };
  for (const std::string& choice : slot.values) add(choice);
  const bool is_suggested = std::find(slot.values.begin(), slot.values.end(), value) != slot.values.end();
  if (!value.empty() && !is_suggested) add(value);
  return field;
}

std::string field_of(const templates::Slot& slot) {
  return "slot." + slot.name;
}

}  // namespace

View* add_slots_form(const LoadedDomain& domain, const BaseQuery& slots, View& page) {
  if (domain.domain.slots.size() < 2) return nullptr;
  View& form = page.add("SLOTS");
  form.set("NAME", domain.domain.name);
  const std::string_view plain = plain_slot(domain.domain);
  for (const templates::Slot& slot : domain.domain.slots) {
    View& field = add_slot(slot, slot.name == plain ? "q" : field_of(slot), slots, form);
    if (slot.is_required) field.add("REQUIRED");
  }
  return &form;
}

void add_other_slots(const templates::Domain& domain, const BaseQuery& slots, View& form) {
  const std::string_view plain = plain_slot(domain);
  for (const templates::Slot& slot : domain.slots)
    if (slot.name != plain) add_slot(slot, field_of(slot), slots, form);
}

namespace {

/// Adds what was sent with an action that failed, and the button that sends it again.
void add_unsaved(const Fields& unsaved, View& view) {
  const bool has_some = std::any_of(unsaved.begin(), unsaved.end(), [](const auto& field) {
    return field.first != "action" && !field.second.empty();
  });
  if (!has_some) return;
  View& retry = view.add("RETRY");
  retry.set("ACTION", form_value(unsaved, "action"));
  for (const auto& [name, value] : unsaved)
    if (name != "action") retry.add("FIELD").set("NAME", name).set("VALUE", value);
}

}  // namespace

Fields without_key(const Fields& form) {
  Fields out = form;
  std::erase_if(out, [](const auto& field) { return field.first == "key"; });
  return out;
}

View* add_form(const FormState& state, const std::string& domain, View& page) {
  page.set("NAME", domain);
  if (!state.done.empty()) page.add("DONE").set("TEXT", state.done);
  if (!state.wrong.empty()) page.add("WRONG").set("TEXT", state.wrong);
  if (state.is_off) {
    page.add("OFF");
    return nullptr;
  }
  View& form = page.add("FORM").set("NAME", domain);
  View& part = form.add(state.is_signed_in ? "INSIDE" : "SIGN_IN");
  add_unsaved(state.unsaved, part);
  return state.is_signed_in ? &part : nullptr;
}

std::string domain_list_page(const Exchange& exchange, std::string_view page, std::string_view title) {
  View view = page_view(&exchange, title, "", "");
  for (const LoadedDomain* domain : exchange.domains())
    view.add("ITEM").set("NAME", domain->domain.name).set("DESCRIPTION", domain->domain.description);
  return render_page(page, view);
}

void add_sites(const SitePreferences& sites, std::string_view part, const Texts& texts, View& page) {
  const auto add = [&](const char* what, const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) page.add(part).set("HOST", host).set("WHAT", texts.raw(what));
  };
  add("raised", sites.raised);
  add("lowered", sites.lowered);
  add("blocked", sites.blocked);
}

void add_story(const LearningStory& story, View& page) {
  if (story.gain.empty() && story.decision.empty()) return;
  View& view = page.add("STORY").set("GAIN", story.gain);
  std::string decision = story.decision;
  // the sentence begins with the gain, which stands above it, unless it was decided at an earlier training
  if (!story.gain.empty() && decision.starts_with(story.gain + "; "))
    decision.erase(0, story.gain.size() + 2);
  if (!decision.empty()) view.add("DECIDED").set("TEXT", decision);
  if (story.changes.empty()) return;
  View& changes = view.add("CHANGES");
  for (const std::string& change : story.changes) changes.add("CHANGE").set("TEXT", change);
}

std::string fused_by(const LoadedDomain& domain) {
  if (domain.is_model_prior) return domain.learned_elsewhere() + ", since it has no model of its own";
  if (!domain.model) return "RRF (reciprocal rank fusion), since no model is trained yet";
  const std::string also = fusion::learned_from_text(domain.model->training);
  return fmt::format("{} (model {}){}{}", domain.model->learner, domain.served_version(),
                     also.empty() ? "" : ", which also learned from ", also);
}

std::string home_page(const Exchange& exchange, const LoadedDomain* domain) {
  View view = page_view(&exchange, "", "", domain == nullptr ? "" : domain->domain.name);
  view.add("FOCUS");
  if (domain == nullptr && exchange.snapshot->domains.empty()) view.add("NO_DOMAIN");
  if (domain == nullptr) return render_page("home", view);
  const templates::Domain& known = domain->domain;
  view.set("HEADING", known.description.empty()
                          ? texts_in(view.language).say("search_domain", fmt::arg("domain", known.name))
                          : known.description);
  add_tabs(exchange, *domain, "", view);
  add_slots_form(*domain, {}, view);
  if (!known.examples.empty()) {
    View& examples = view.add("EXAMPLES");
    for (const std::string& example : known.examples)
      examples.add("EXAMPLE").set("TEXT", example).set("DOMAIN_NAME", known.name);
  }
  view.add("TIPS");
  return render_page("home", view);
}

namespace {

/// One option of a preference. The first of each list below is the default.
struct Choice {
  std::string_view value;
  std::string_view text;
  bool is_key = false;  ///< the text is the key of one
};

constexpr Choice kSafeSearch[] = {{"0", "off", true}, {"1", "moderate", true}, {"2", "strict", true}};
constexpr Choice kPageSizes[] = {{"", "30"}, {"10", "10"}, {"20", "20"}, {"50", "50"}, {"100", "100"}};
constexpr Choice kThemes[] = {{"", "as_system", true}, {"light", "light", true}, {"dark", "dark", true}};

void add_choices(std::span<const Choice> choices, std::string_view chosen, std::string_view name,
                 View& page) {
  const Texts& texts = texts_in(page.language);
  bool is_listed = false;
  const auto add = [&](std::string_view value, std::string_view text) {
    View& option = page.add(name);
    option.set("VALUE", value).set("TEXT", text);
    if (value == chosen) option.add("SELECTED");
    is_listed = is_listed || value == chosen;
  };
  for (const Choice& choice : choices)
    add(choice.value, choice.is_key ? texts.raw(choice.text) : choice.text);
  if (!is_listed) add(chosen, chosen);
}

std::vector<Choice> language_choices() {
  std::vector<Choice> choices{{"", "engines_own", true}};
  for (const Language& language : known_languages()) choices.push_back({language.tag, language.own_name});
  return choices;
}

std::vector<Choice> page_language_choices() {
  std::vector<Choice> choices{{"", "as_browser", true}};
  for (const auto& [tag, own_name] : kPageLanguages) choices.push_back({tag, own_name});
  return choices;
}

}  // namespace

std::string preferences_page(const Exchange& exchange, const Preferences& preferences,
                             const PreferencesRequest& request) {
  const Preferences& shown = request.offered == nullptr ? preferences : *request.offered;
  View view = page_view(&exchange, "", "", "");
  const Texts& texts = texts_in(view.language);
  view.set("TITLE", std::string(texts.raw("preferences")) + " – " + exchange.snapshot->config.branding.name);
  if (request.is_saved) view.add("SAVED");
  if (request.offered != nullptr) view.add("OFFERED");
  if (!request.site.empty()) view.add("ONE_SITE").set("HOST", request.site).set("BACK", request.back);
  add_choices(page_language_choices(), shown.page, "PAGE", view);
  add_choices(language_choices(), shown.language, "LANGUAGE", view);
  add_choices(kSafeSearch, std::to_string(shown.safe_search), "SAFE", view);
  add_choices(kPageSizes, shown.results == 0 ? "" : std::to_string(shown.results), "RESULTS", view);
  add_choices(kThemes, shown.theme, "COLOURS", view);
  if (shown.opens_new_tab) view.add("NEW_TAB");
  view.set("SITES", sites_text(shown.sites));
  add_sites(shown.sites, "SITE", texts, view);
  if (shown.sites.is_empty()) view.add("NO_SITES");
  view.set("LINK", exchange.origin() + "/preferences?set=" + percent_encoded(preferences_text(shown)));
  return render_page("preferences", view);
}

namespace {

/// The key of the text that says in the reader's language what a status means.
std::string_view meaning_of(int status) {
  if (status == 401 || status == 403) return "error_key";
  if (status == 404 || status == 405) return "error_missing";
  if (status == 429 || status == 503) return "error_busy";
  return status < 500 ? "error_request" : "error_server";
}

/// The form of a domain's slots, filled with what a refused search gave of them.
void add_given_slots(const Exchange& exchange, std::string_view domain_name, const std::string& query,
                     BaseQuery slots, View& page) {
  const LoadedDomain* domain = exchange.find_domain(domain_name);
  const bool is_secret = exchange.key == nullptr && exchange.snapshot->config.needs_key;
  if (domain == nullptr || is_secret) return;
  if (!query.empty()) slots.slots.emplace(plain_slot(domain->domain), query);
  if (View* form = add_slots_form(*domain, slots, page)) form->add("UNFOLDED");
}

}  // namespace

std::string error_page(const Exchange* exchange, int status, std::string_view text) {
  const bool is_search = exchange != nullptr && exchange->request.path == "/search";
  const Fields fields = !is_search                        ? Fields()
                        : exchange->request.query.empty() ? exchange->form
                                                          : exchange->request.query;
  const std::string query = form_value(fields, "q");
  const std::string domain_name = form_value(fields, "domain");
  View view = page_view(exchange, reason_of(status), query, domain_name);
  if (is_search && status == 400) add_given_slots(*exchange, domain_name, query, slots_in(fields), view);
  view.set("MEANING", texts_in(view.language).raw(meaning_of(status)));
  view.set("STATUS", std::to_string(status)).set("REASON", reason_of(status)).set("TEXT", text);
  return render_page("error", view);
}

}  // namespace metafuse::service
