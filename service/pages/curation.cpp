#include "service/learning/curation.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/number.h"
#include "core/text.h"
#include "service/api/handlers.h"
#include "service/base/log.h"
#include "service/config/reloader.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/learning/decisions.h"
#include "service/learning/records.h"
#include "service/pages/handlers.h"
#include "service/pages/page.h"
#include "service/search/template_editing.h"

// /curation: the page on which an operator pins, hides and adds results of a query and edits synonyms.

namespace metafuse::service {
namespace {

constexpr std::string_view kForget = "forget-";

struct CurationPageState : FormState {
  Curation curation;
  std::string query;        ///< what was typed; stays after an action, for the query's next result
  CuratedResult undecided;  ///< what was typed, if nothing was decided about it
  std::optional<std::string> typed_synonyms;  ///< what was sent and not saved
  std::string typed_from;                     ///< the tag of the synonyms that typed_synonyms began as
  bool shows_saved_synonyms = false;  ///< beside those typed, because somebody else saved them meanwhile
  std::size_t versions = 0;
};

void add_curated(const CuratedQuery& query, std::size_t number, View& table) {
  View& row = table.add("ROW");
  row.set("QUERY", query.query).set("NUMBER", std::to_string(number));
  const auto add = [&](const char* what, const std::vector<CuratedResult>& results) {
    for (const CuratedResult& result : results)
      row.add("RESULT").set("WHAT", what).set("URL", result.url).set("TITLE", result.title);
  };
  add("pinned", query.pinned);
  add("added", query.added);
  add("hidden", query.hidden);
}

/// "car, automobile" on a line per group.
std::string synonyms_text(const Synonyms& synonyms) {
  std::string out;
  for (const auto& group : synonyms) out += fmt::format("{}\n", fmt::join(group, ", "));
  return out;
}

Synonyms read_synonyms(std::string_view text) {
  Synonyms out;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    std::vector<std::string> group;
    while (!line.empty()) {
      const std::string_view word = ascii_trimmed(take_until(line, ','));
      if (!word.empty()) group.emplace_back(word);
    }
    if (!group.empty()) out.push_back(std::move(group));
  }
  return out;
}

// A form carries the tags of the decisions and of the synonyms that its page showed. A change of either is
// refused if somebody else has changed the same since.

std::string decisions_tag(const Curation& curation) {
  return text_etag(curation_text({curation.queries, {}}));
}

std::string synonyms_tag(const Synonyms& synonyms) {
  return text_etag(synonyms_text(synonyms));
}

/// Keeps what was typed. Synonyms that are still what the page showed were not, unless they are to be saved.
void keep_typed(const Fields& form, CurationPageState& state) {
  state.query = form_value(form, "query");
  state.typed_from = form_value(form, "synonyms_tag");
  for (const auto& [name, value] : form)
    if (name == "synonyms" &&
        (form_value(form, "action") == name || synonyms_tag(read_synonyms(value)) != state.typed_from))
      state.typed_synonyms = value;
}

std::string curation_page(const Exchange& exchange, const LoadedDomain& domain,
                          const CurationPageState& state) {
  const std::string& name = domain.domain.name;
  View view = page_view(&exchange, "Curation of " + name, "", name);
  View* const form = add_form(state, name, view);
  if (form == nullptr) return render_page("curation", view);
  View& inside = *form;
  inside.set("TYPED_QUERY", state.query)
      .set("TYPED_URL", state.undecided.url)
      .set("TYPED_TITLE", state.undecided.title)
      .set("TYPED_SNIPPET", state.undecided.snippet)
      .set("DECISIONS_TAG", decisions_tag(state.curation))
      .set("SYNONYMS_TAG", state.typed_synonyms ? state.typed_from : synonyms_tag(state.curation.synonyms))
      .set("SYNONYMS", state.typed_synonyms ? *state.typed_synonyms : synonyms_text(state.curation.synonyms))
      .set("VERSIONS", std::to_string(state.versions));
  if (state.shows_saved_synonyms)
    inside.add("SAVED_SYNONYMS").set("TEXT", synonyms_text(state.curation.synonyms));
  if (state.curation.queries.empty()) {
    inside.add("EMPTY");
  } else {
    View& table = inside.add("TABLE");
    for (std::size_t i = 0; i < state.curation.queries.size(); ++i)
      add_curated(state.curation.queries[i], i, table);
  }
  return render_page("curation", view);
}

/// The URL of a result that was copied from a page. For a file of this machine, pages show its path
/// ("/a/b.md") and link to "/files/DOMAIN?path=...&sign=...".
std::string url_of_copied(std::string_view text) {
  std::string path(text);
  const std::size_t parameters = text.find('?');
  if (const std::size_t at = text.find("/files/"); at < parameters && parameters != std::string_view::npos) {
    const auto fields = parse_form(text.substr(parameters + 1));
    if (fields && !form_value(*fields, "sign").empty()) path = form_value(*fields, "path");
  }
  if (!path.starts_with('/') || path.starts_with("//")) return std::string(text);
  std::string url = "file://localhost";
  std::string_view rest = std::string_view(path).substr(1);
  while (!rest.empty()) url += '/' + percent_encoded(take_until(rest, '/'));
  return url;
}

CuratedQuery& entry_of(Curation& curation, const std::string& query) {
  const std::string folded = folded_query(query);
  for (CuratedQuery& entry : curation.queries)
    if (folded_query(entry.query) == folded) return entry;
  curation.queries.push_back({query});
  return curation.queries.back();
}

/// Changes the curation as a button of the form says. What was decided about the same URL before is replaced.
///
/// out: what was done, for people; empty if nothing
std::string apply_action(const Fields& form, Curation& curation) {
  const std::string action = form_value(form, "action");
  if (action == "synonyms") {
    curation.synonyms = read_synonyms(form_value(form, "synonyms"));
    return "The synonyms are saved.";
  }
  std::int64_t number = 0;
  if (action.starts_with(kForget) && to_integer(std::string_view(action).substr(kForget.size()), number) &&
      number >= 0 && number < static_cast<std::int64_t>(curation.queries.size())) {
    curation.queries.erase(curation.queries.begin() + number);
    return "Forgotten: the query has the model's order again.";
  }
  if (action != "pin" && action != "hide" && action != "add") return {};
  CuratedQuery& entry = entry_of(curation, std::string(trimmed(form_value(form, "query"))));
  CuratedResult result{url_of_copied(trimmed(form_value(form, "url"))), form_value(form, "title"),
                       form_value(form, "snippet")};
  const auto is_same = [&](const CuratedResult& other) { return other.url == result.url; };
  for (auto* list : {&entry.pinned, &entry.added, &entry.hidden}) std::erase_if(*list, is_same);
  const std::string done = fmt::format("For \"{}\": {} {}.", entry.query,
                                       action == "pin"    ? "pinned"
                                       : action == "hide" ? "hid"
                                                          : "added",
                                       result.url);
  (action == "pin"    ? entry.pinned
   : action == "hide" ? entry.hidden
                      : entry.added)
      .push_back(std::move(result));
  return done;
}

/// Refuses an action on what is not as the form's page showed it.
///
/// in: now - the curation as it is stored
OrRefusal<void> check_form(const Fields& form, const Curation& now, CurationPageState& state) {
  const std::string action = form_value(form, "action");
  if (action == "show") return {};
  if (action == "choose")  // Enter in a box presses the form's first button
    return refusal(422, "Nothing was done: press Pin first, Hide or Add.");
  if (action != "synonyms") {
    if (form_value(form, "decisions_tag") == decisions_tag(now)) return {};
    return refusal(
        412,
        "Nothing was done, because the decisions were changed since this page was loaded. They stand "
        "below as they are now; press the button again if it is still right.");
  }
  if (state.typed_from == synonyms_tag(now.synonyms)) return {};
  state.typed_from = synonyms_tag(now.synonyms);
  state.shows_saved_synonyms = true;
  return refusal(
      412,
      "The synonyms are not saved, because others were saved since this page was loaded. Both stand "
      "below: put together what should hold, and save again.");
}

/// Does what the form says and saves it.
///
/// out: the text that is stored then
OrRefusal<std::string> act_on(Records& records, const Exchange& exchange, const std::string& stored,
                              CurationPageState& state) {
  const TrackingParameters& tracking = exchange.snapshot->config.tracking;
  auto edited = parse_curation(stored, tracking);
  if (!edited) return refusal(503, edited.error().text);
  TRY_VOID(check_form(exchange.form, *edited, state));
  std::string done = apply_action(exchange.form, *edited);
  if (done.empty()) return stored;
  const std::string text = curation_text(*edited);
  TRY(auto saved, save_curation(records,
                                {exchange.path_values.front(), text, text_etag(stored),
                                 exchange.key == nullptr ? "" : exchange.key->name},
                                tracking));
  state.done = std::move(done);
  if (form_value(exchange.form, "action") == "synonyms") state.typed_synonyms.reset();
  return saved;
}

}  // namespace

HttpResponse handle_curation_list(const Exchange& exchange) {
  return html_response(domain_list_page(exchange, "curation_list", "Curation"));
}

Answered handle_curation_page(Records& records, const Exchange& exchange) {
  return first_domain_page<CurationPageState>(records, exchange, curation_page);
}

Answered handle_curation_form(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_of_form(records, exchange, curation_page, CurationPageState()));
  CurationPageState state;
  state.is_signed_in = true;
  int status = 200;
  keep_typed(exchange.form, state);
  const std::lock_guard one_at_a_time(reloader.files_mutex());
  const std::string& name = domain->domain.name;
  TRY(auto stored, stored_curation(*records.store, name));
  if (auto saved = act_on(records, exchange, stored.text, state)) {
    stored.text = *std::move(saved);
  } else {
    state.wrong = saved.error().text;
    status = saved.error().status;
  }
  if (status != 200 || form_value(exchange.form, "action") == "show")
    state.undecided = {form_value(exchange.form, "url"), form_value(exchange.form, "title"),
                       form_value(exchange.form, "snippet")};
  TRY(state.curation, parse_curation(stored.text, exchange.snapshot->config.tracking));
  TRY(const auto versions, records.store->templates.all(curation_name(name)));
  state.versions = versions.size();
  return html_response(curation_page(exchange, *domain, state), status);
}

}  // namespace metafuse::service
