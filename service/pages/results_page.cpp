#include "service/pages/results_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/kind_text.h"
#include "core/languages.h"
#include "core/text.h"
#include "core/url.h"
#include "fusion/training/learned_from.h"
#include "service/base/addresses.h"
#include "service/pages/result_filters.h"
#include "service/pages/result_lists.h"
#include "service/pages/result_text.h"
#include "service/pages/texts.h"
#include "service/search/list_fusion.h"
#include "service/search/list_selection.h"
#include "service/search/reasons.h"
#include "service/search/search_pipeline.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSnippetBytes = 250;  // passages of one's own documents fit
constexpr std::size_t kTitleBytes = 200;
constexpr std::size_t kDetailBytes = 80;
constexpr std::size_t kMostRelated = 8;
constexpr int kPagesAround = 4;
constexpr std::size_t kMostFolded = 10;  ///< results shown below another one

std::string cut_text(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  return std::string(truncate_utf8(text, bytes)) + "…";
}

/// The state that the functions below share while they write one page's results.
struct PageWriter {
  const LoadedDomain& domain;
  const SearchAnswer& answer;
  const Preferences& preferences;
  const Texts& texts;
  std::vector<FoldedText> words;
  ResultLists lists;
  const PictureLinks& pictures;
  const FileLinks& files;
  bool has_closed_files = false;  ///< some result is a file that cannot be opened from the page
};

/// The link of a result's title. The path of a file without one is shown below the title.
std::string link_of(PageWriter& writer, const std::string& url) {
  std::string link = target_of(writer.files, writer.answer.domain, url);
  writer.has_closed_files = writer.has_closed_files || link.empty();
  return link;
}

void add_marked(std::string_view text, const std::vector<FoldedText>& words, std::string_view name,
                View& view) {
  for (const MarkedPiece& piece : marked(text, words)) {
    View& part = view.add(name);
    part.set("T", piece.plain);
    if (!piece.match.empty()) part.add("HIT").set("M", piece.match);
  }
}

/// "3:42 · Ada · 2024-05-01 · Deutsch · pdf": a result's length and further details, date, language and type,
/// as far as known. The language that the reader prefers is not repeated, nor a length in the picture.
std::string small_text(const Hit& hit, const Preferences& preferences, bool has_picture) {
  std::string out;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) out += std::string(out.empty() ? "" : " · ") + std::string(text);
  };
  if (!has_picture) add(length_of(hit));
  for (const std::string_view name : told_details(hit.kind))
    add(cut_text(std::string(detail(hit.details, name)), kDetailBytes));
  add(std::string_view(hit.published).substr(0, 10));
  if (hit.language != preferences.language) add(language_name(hit.language));
  add(shown_file_type(hit.url));
  return out;
}

/// What people decided about a result: "judged 3", "pinned".
std::string decided_text(const FusedResult& result, const Texts& texts) {
  std::string out;
  if (result.decided != Decided::nothing) out = texts.raw(name_of(result.decided));
  if (result.grade) out += (out.empty() ? "" : ", ") + texts.say("judged", fmt::arg("grade", *result.grade));
  return out;
}

/// Results folded below another one, as links behind a text that counts them, such as "2 more like this".
void add_folded(PageWriter& writer, const std::vector<FoldedHit>& hits, std::string_view text, View& view) {
  if (hits.empty()) return;
  View& folded = view.add("FOLDED");
  folded.set("COUNT", writer.texts.counted(text, hits.size()));
  for (std::size_t i = 0; i < std::min(hits.size(), kMostFolded); ++i) {
    const ReadableAddress address = readable_address(hits[i].url);
    View& item = folded.add("HIT");
    item.set("T", cut_text(hits[i].title.empty() ? hits[i].url : hits[i].title, kTitleBytes));
    item.set("WHERE", address.host + address.path);
    const std::string target = link_of(writer, hits[i].url);
    if (target.empty()) continue;
    item.add("LINK").set("URL", target);
    item.add("LINK_END");
  }
}

/// A link to the result, with its length in a corner.
void add_picture(const PageWriter& writer, const Hit& hit, const std::string& picture,
                 const std::string& target, View& view) {
  View& shown = view.add("THUMBNAIL");
  shown.set("PICTURE", picture);
  if (const std::string length = length_of(hit); !length.empty()) shown.add("LENGTH").set("TEXT", length);
  if (target.empty()) return;
  View& link = shown.add("TO");
  link.set("URL", target);
  if (writer.preferences.opens_new_tab) link.add("NEW_TAB");
}

/// Whether the results are shown as a grid: most of them are pictures.
bool is_grid(const PageWriter& writer, const std::vector<std::size_t>& positions) {
  std::size_t pictures = 0;
  for (const std::size_t at : positions) {
    const Hit& hit = writer.answer.results[at].hit;
    const bool is_picture = hit.kind == ResultKind::image &&
                            !writer.pictures.link(PictureKind::thumbnail, picture_of(hit)).empty();
    pictures += is_picture ? 1 : 0;
  }
  return 2 * pictures > positions.size();
}

void add_result(PageWriter& writer, std::size_t at, View& page) {
  const Hit& hit = writer.answer.results[at].hit;
  View& view = page.add("RESULT");
  const ReadableAddress address = readable_address(hit.url);
  view.set("HOST_TEXT", address.host).set("PATH", address.path);
  const std::string target = link_of(writer, hit.url);
  if (!target.empty()) {
    View& link = view.add("LINK");
    link.set("URL", target);
    if (writer.preferences.opens_new_tab) link.add("NEW_TAB");
    if (!hit.language.empty()) link.add("LANG").set("TAG", hit.language);
    view.add("LINK_END");
  }
  if (const std::string icon = writer.pictures.link(PictureKind::icon, hit.url); !icon.empty())
    view.add("ICON").set("PICTURE", icon);
  if (hit.kind != ResultKind::page) view.add("KIND").set("NAME", name_of(hit.kind));
  const std::string picture = writer.pictures.link(PictureKind::thumbnail, picture_of(hit));
  if (!picture.empty()) add_picture(writer, hit, picture, target, view);
  add_marked(hit.title.empty() ? cut_text(hit.url, 140) : cut_text(hit.title, kTitleBytes), writer.words,
             "TITLE_PART", view);
  if (!hit.snippet.empty()) {
    View& snippet = view.add("SNIPPET");
    if (!hit.language.empty()) snippet.add("LANG").set("TAG", hit.language);
    add_marked(excerpt(hit.snippet, writer.words, kSnippetBytes), writer.words, "TEXT_PART", snippet);
  }
  add_folded(writer, writer.answer.results[at].alike, "more_like_this", view);
  add_folded(writer, writer.answer.results[at].same_site, "more_from_site", view);
  if (const std::string details = small_text(hit, writer.preferences, !picture.empty()); !details.empty())
    view.add("DETAILS").set("TEXT", details);
  if (const std::string decided = decided_text(writer.answer.results[at], writer.texts); !decided.empty())
    view.add("DECIDED").set("TEXT", decided);
  writer.lists.add_badges(writer.answer.results[at], view);
  writer.lists.add_reasons(at, view);
  if (const std::string host = host_of(hit.url); is_site(ascii_host(host)) && !hit.url.starts_with("file:"))
    view.add("SITE").set("HOST", host);
}

void add_failures(const SearchAnswer& answer, const Texts& texts, View& page) {
  std::size_t count = 0;
  for (const auto& list : answer.lists) count += list.has_failed() ? 1 : 0;
  if (count == 0) return;
  View& view = page.add("FAILED");
  view.set("COUNT", texts.counted("missing", count, fmt::arg("all", answer.lists.size()),
                                  fmt::arg("engines", failed_engines(answer))));
  for (const auto& list : answer.lists)
    if (list.has_failed())
      view.add("LIST").set("FEATURE", list.query.feature_name()).set("WHY", failure_text(list));
}

/// Whether the engines hold more results than they were asked for.
bool is_about(const LoadedDomain& domain, const SearchAnswer& answer) {
  return answer.windows > 1 || may_hold_more(answer, domain.domain.depth);
}

/// "4 results", "About 95 results in 0.02 s": the same number on every page of a search. "About" means that
/// the engines hold more than they were asked for.
std::string summary_of(const LoadedDomain& domain, const SearchAnswer& answer, const PageRequest& request,
                       const Texts& texts) {
  const std::string out =
      texts.counted(is_about(domain, answer) ? "summary_about" : "summary", request.shown->on_first_asked);
  const double seconds = answer.fetch_seconds + answer.fuse_seconds;
  if (seconds <= 0) return out;
  return out + ' ' +
         (seconds < 0.01 ? std::string(texts.raw("in_no_time"))
                         : texts.say("in_seconds", fmt::arg("seconds", fmt::format("{:.2f}", seconds))));
}

std::string how_found(const LoadedDomain& domain, const SearchAnswer& answer, const Texts& texts) {
  const FusionNote& fusion = answer.fusion;
  const std::string name = fusion.method == "rrf" ? "RRF" : fusion.method;
  const auto method = fmt::arg("method", name);
  std::string out = fusion.version.empty() ? texts.counted("how", answer.lists.size(), method)
                                           : texts.counted("how_model", answer.lists.size(), method,
                                                           fmt::arg("model", fusion.version));
  if (is_about(domain, answer)) out += ' ' + std::string(texts.raw("how_more"));
  for (const NotAskedGroup& group : not_asked_groups(answer))
    out += ' ' + texts.counted(fmt::format("how_{}", name_of(group.why)), group.count,
                               fmt::arg("lists", group.names));
  if (answer.left_out > 0) out += ' ' + texts.counted("how_left_out", answer.left_out);
  if (!domain.model && !domain.is_model_left_out) return out + ' ' + std::string(texts.raw("how_untrained"));
  std::string notice = fusion.notice;
  if (notice.empty() && domain.model)
    if (const std::string also = fusion::learned_from_text(domain.model->training); !also.empty())
      notice = "the model also learned from " + also;
  if (!notice.empty()) out += ' ' + texts.say("how_notice", fmt::arg("notice", notice));
  return out;
}

void add_suggestions(const SearchAnswer& answer, View& page) {
  if (answer.suggestions.empty()) return;
  View& suggestions = page.add("SUGGESTIONS");
  for (std::size_t i = 0; i < std::min(kMostRelated, answer.suggestions.size()); ++i)
    suggestions.add("SUGGESTION").set("TEXT", answer.suggestions[i]).set("DOMAIN_NAME", answer.domain);
}

void add_narrowing(const VisibleResults& seen, const PageRequest& request, const SearchLinks& links,
                   const Texts& texts, View& page) {
  const SearchAnswer& answer = seen.answer;
  const auto active = conditions_to_take_away(answer, *request.parameters, links, texts);
  if (!active.empty()) {
    View& chips = page.add("CHIPS");
    for (const FilterLink& link : active) chips.add("CHIP").set("TEXT", link.text).set("URL", link.url);
  }
  const auto offered = offered_filters(seen, *request.parameters, links, texts, request.now);
  if (offered.empty()) return;
  View& filters = page.add("FILTERS");
  for (const FilterGroup& group : offered) {
    View& view = filters.add("GROUP");
    view.set("NAME", group.name);
    for (const FilterLink& link : group.links)
      view.add("OPTION").set("TEXT", link.text).set("URL", link.url).set("COUNT", std::to_string(link.count));
  }
}

void add_pages(const LoadedDomain& domain, const SearchAnswer& answer, const PageRequest& request,
               const SearchLinks& links, View& page) {
  const ShownResults& shown = *request.shown;
  const int here = request.parameters->search.page;
  const int known = static_cast<int>(shown.pages);
  const int last = may_hold_more(answer, domain.domain.depth) ? std::max(known, here) + 1 : known;
  if (here > 1 && shown.positions.empty()) {
    View& beyond = page.add("BEYOND");
    beyond.set("NUMBER", std::to_string(here));
    beyond.set("URL", links.page(std::max(1, known)));
    return;
  }
  if (last < 2) return;
  View& pages = page.add("PAGES");
  if (here > 1) pages.add("PREVIOUS").set("URL", links.page(here - 1));
  const int first = std::max(1, here - kPagesAround);
  for (int number = first; number <= std::min(last, first + 2 * kPagesAround); ++number) {
    View& item = pages.add("PAGE");
    item.set("NUMBER", std::to_string(number)).set("URL", links.page(number));
    if (number == here) item.add("HERE");
  }
  if (here < last) pages.add("NEXT").set("URL", links.page(here + 1));
}

void add_correction(const PageRequest& request, const SearchLinks& links, View& page) {
  if (request.shown->corrections.empty()) return;
  const std::string& corrected = request.shown->corrections.front();
  const std::string& typed = request.shown->typed;
  View& view = page.add(typed.empty() ? "MEANT" : "INSTEAD");
  view.set("TYPED", typed).set("TEXT", corrected);
  view.set("URL", typed.empty() ? links.with("q", corrected) : links.with("verbatim", "1"));
}

/// For a search without results: how the query was understood, and what might help. If no engine answered,
/// nothing that the reader could change would help.
void add_nothing(const SearchAnswer& answer, const Texts& texts, View& page) {
  View& view = page.add("NOTHING");
  if (answer.typed.terms.empty())
    view.add("WITHOUT_WORDS");
  else
    view.add("UNDERSTOOD").set("WORDS", answer.typed.words());
  const bool has_answers = std::any_of(answer.lists.begin(), answer.lists.end(),
                                       [](const fetchers::FetchedList& list) { return !list.has_failed(); });
  if (answer.left_out > 0) view.add("LEFT_OUT").set("COUNT", texts.counted("left_out", answer.left_out));
  if (!has_answers) return;
  View& advice = view.add("ADVICE");
  if (!answer.typed.conditions.empty()) advice.add("CONDITIONS");
  if (answer.typed.terms.size() > 1) advice.add("FEWER");
}

/// Says why a page has no results, if it is the first.
void add_emptiness(const VisibleResults& seen, const PageRequest& request, const Texts& texts, View& page) {
  const SearchAnswer& answer = seen.answer;
  const std::size_t found = answer.results.size() - answer.hidden;
  if (found == 0)
    add_nothing(answer, texts, page);
  else if (seen.positions.empty() && request.parameters->search.page == 1)
    page.add("ALL_BLOCKED").set("COUNT", texts.counted("all_blocked", found));
}

/// The slots of an answer, with the plain query in the slot that it filled, for the form.
BaseQuery slots_in_form(const LoadedDomain& domain, const SearchAnswer& answer) {
  BaseQuery slots = answer.slots;
  if (answer.query != query_text({}, slots)) slots.slots.emplace(plain_slot(domain.domain), answer.query);
  return slots;
}

}  // namespace

View results_view(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request) {
  const LoadedDomain& domain = *exchange.snapshot->find_domain(answer.domain);
  const ShownResults& shown = *request.shown;
  const SearchLinks links(*request.fields);
  const VisibleResults seen{answer, seen_positions(answer, exchange.preferences.sites)};
  View view =
      page_view(&exchange, answer.query, request.typed.empty() ? answer.query : request.typed, answer.domain);
  const Texts& texts = texts_in(view.language);
  add_tabs(exchange, domain, answer.query, view);
  add_slots_form(domain, slots_in_form(domain, answer), view);
  view.set("SUMMARY", summary_of(domain, answer, request, texts))
      .set("HOW", how_found(domain, answer, texts));
  view.set("FIRST", std::to_string(shown.first + 1)).set("SEARCH_ID", shown.search_id);
  view.set("BACK", links.page(request.parameters->search.page));
  if (request.is_partial) view.add("ARRIVING");
  add_narrowing(seen, request, links, texts, view);
  add_failures(answer, texts, view);
  add_suggestions(answer, view);
  add_correction(request, links, view);
  add_emptiness(seen, request, texts, view);
  PageWriter writer{domain,
                    answer,
                    exchange.preferences,
                    texts,
                    words_to_mark(answer),
                    ResultLists(domain, answer, texts, shown.positions.size()),
                    request.pictures,
                    request.files};
  if (!answer.results.empty()) writer.lists.add_legend(view);
  if (is_grid(writer, shown.positions)) view.add("GRID");
  for (const std::size_t at : shown.positions) add_result(writer, at, view);
  if (writer.has_closed_files)
    view.add("CLOSED_FILES").add(writer.files.folders.empty() ? "WITHOUT_FOLDERS" : "WITH_FOLDERS");
  if (const SitePreferences& sites = exchange.preferences.sites; !sites.is_empty())
    add_sites(sites, "PREFERENCE", texts, view.add("PREFERENCES"));
  add_pages(domain, answer, request, links, view);
  return view;
}

std::string results_page(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request) {
  return render_page("search", results_view(exchange, answer, request));
}

}  // namespace metafuse::service
