#include "service/pages/template_page.h"

#include <algorithm>

#include "service/base/dates.h"
#include "service/pages/page.h"
#include "service/pages/result_text.h"
#include "service/search/reasons.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostVersions = 50;
constexpr std::size_t kMostResults = 10;
constexpr std::size_t kMostSourceBytes = 400;

/// A line of a text, counted from 1; "" for 0 and beyond its end.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number)
    text.remove_prefix(std::min(text.size() - 1, text.find('\n')) + 1);
  return number == 0 ? std::string_view() : text.substr(0, text.find('\n'));
}

/// Adds the line that has a mistake, and a mark below the mistake's column.
void add_source(const TemplateEditorState& state, const LineMessage& message, View& view) {
  const std::string_view line = line_of(state.text, message.line);
  if (message.line == 0 || line.size() > kMostSourceBytes) return;
  const std::string number = std::to_string(message.line) + "  ";
  const std::string_view before = line.substr(0, message.column == 0 ? 0 : message.column - 1);
  const auto characters = static_cast<std::size_t>(std::count_if(
      before.begin(), before.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  view.add("SOURCE")
      .set("CODE", number + std::string(line))
      .set("MARK", std::string(number.size() + characters, ' ') + "^");
}

void add_messages(const TemplateEditorState& state, View& page) {
  if (!state.notice.empty()) page.add(state.is_refused ? "REFUSED" : "SAVE_NOTICE").set("TEXT", state.notice);
  if (state.messages.empty()) return;
  View& messages = page.add("MESSAGES");
  for (const LineMessage& message : state.messages) {
    View& view = messages.add("MESSAGE");
    view.set("LINE", std::to_string(message.line)).set("TEXT", message.text);
    add_source(state, message, view);
  }
}

/// Adds a result with its address, as a link if a page can open it.
View& add_hit(const Hit& hit, const FileLinks& files, const std::string& domain, std::string_view part,
              View& page) {
  View& view = page.add(part);
  const ReadableAddress address = readable_address(hit.url);
  view.set("TITLE", hit.title.empty() ? hit.url : hit.title).set("WHERE", address.host + address.path);
  if (const std::string target = target_of(files, domain, hit.url); !target.empty()) {
    view.add("LINK").set("URL", target);
    view.add("LINK_END");
  }
  return view;
}

void add_live(const TemplateEditorState& state, const std::string& domain, View& view) {
  if (!state.preview->answer) return;
  View& live = view.add("LIVE");
  live.set("METHOD", state.preview->answer->fusion.method);
  const auto& results = state.preview->answer->results;
  for (std::size_t i = 0; i < std::min(results.size(), kMostResults); ++i)
    add_hit(results[i].hit, state.files, domain, "FUSED", live)
        .set("LISTS", std::to_string(results[i].placements.size()));
}

/// Adds the hits of an engine's list, or why it is missing.
void add_list(const fetchers::FetchedList& list, const FileLinks& files, const std::string& domain,
              View& row) {
  const std::vector<Hit>& hits = list.list.hits;
  if (list.has_failed() || hits.empty()) {
    row.set("FOUND", list.has_failed() ? failure_text(list, true) : "0");
    return;
  }
  View& found = row.add("HITS");
  found.set("COUNT", std::to_string(hits.size()));
  for (std::size_t i = 0; i < std::min(hits.size(), kMostResults); ++i)
    add_hit(hits[i], files, domain, "HIT", found);
}

void add_preview(const TemplateEditorState& state, const std::string& domain, View& page) {
  if (!state.preview) return;
  View& view = page.add("PREVIEW");
  for (std::size_t i = 0; i < state.preview->expansions.size(); ++i) {
    const ExpandedQuery& query = state.preview->expansions[i];
    View& row = view.add("EXPANSION");
    row.set("FEATURE", query.feature_name()).set("QUERY_TEXT", query.text);
    if (state.preview->answer && i < state.preview->answer->lists.size())
      add_list(state.preview->answer->lists[i], state.files, domain, row);
    else
      row.set("FOUND", "–");
  }
  add_live(state, domain, view);
}

void add_template_versions(const TemplateEditorState& state, View& page) {
  if (state.versions.empty()) return;
  View& versions = page.add("VERSIONS");
  for (std::size_t i = 0; i < std::min(state.versions.size(), kMostVersions); ++i) {
    const TemplateVersion& version = state.versions[i];
    versions.add("VERSION")
        .set("NUMBER", std::to_string(version.number))
        .set("AUTHOR", version.author.empty() ? "before the first change" : version.author)
        .set("TIME", utc_text(version.at));
  }
}

}  // namespace

std::string template_list_page(const Exchange& exchange) {
  View view = page_view(&exchange, "Templates", "", "");
  for (const LoadedDomain* domain : exchange.domains())
    view.add("ITEM")
        .set("NAME", domain->domain.name)
        .set("DESCRIPTION", domain->domain.description)
        .set("COUNT", std::to_string(domain->domain.templates.size()))
        .set("FEATURES", std::to_string(features_of(domain->domain).size()))
        .set("METHOD", fused_by(*domain));
  return render_page("templates", view);
}

std::string template_editor_page(const Exchange& exchange, const LoadedDomain& domain,
                                 const TemplateEditorState& state) {
  View view = page_view(&exchange, domain.domain.name + " templates", "", domain.domain.name);
  view.set("NAME", domain.domain.name)
      .set("DESCRIPTION", domain.domain.description)
      .set("METHOD", fused_by(domain))
      .set("YAML", state.text)
      .set("ETAG", state.etag)
      .set("BASE_QUERY", state.query)
      .set("ROWS", std::to_string(std::clamp<std::ptrdiff_t>(
                       std::count(state.text.begin(), state.text.end(), '\n') + 2, 12, 40)));
  add_messages(state, view);
  add_preview(state, domain.domain.name, view);
  add_other_slots(state.edited ? *state.edited : domain.domain, state.slots, view);
  add_template_versions(state, view);
  if (state.has_admin) {
    View& admin = view.add("ADMIN");
    if (state.can_save) admin.add("SAVE");
  }
  if (!state.can_save) view.add("NO_SAVE");
  return render_page("template_editor", view);
}

}  // namespace metafuse::service
