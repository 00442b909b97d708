#include "service/pages/results_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/languages.h"
#include "core/text.h"
#include "service/base/addresses.h"
#include "service/pages/result_filters.h"
#include "service/pages/result_text.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/search_pipeline.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSnippetBytes = 250;  // passages of one's own documents fit
constexpr std::size_t kTitleBytes = 200;
/// Most bytes of markup for all explanations of a page together, so that 30 results of 16 lists stay below
/// 64 KB.
constexpr std::size_t kReasonBytes = 20000;
constexpr std::size_t kRowBytes = 36;
/// Lists whose weight is at most this share of the largest one explain nothing.
constexpr double kLeastShownShare = 0.01;
constexpr std::size_t kFewestReasons = 6;
constexpr int kBarSteps = 20;
constexpr std::size_t kMostRelated = 8;
constexpr std::size_t kMostBadges = 3;
constexpr std::size_t kBadgeColours = 8;
/// Most hits that the column "without it" may fuse again for one page; with more, the column stays empty.
constexpr std::size_t kMostRefusedHits = 60000;
constexpr int kPagesAround = 4;
constexpr std::size_t kMostFolded = 10;  ///< results shown below another one

std::string cut_text(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  return std::string(truncate_utf8(text, bytes)) + "…";
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// The colour and name of the badge of each list in an answer. Badges name engines if there are several,
/// else templates.
class Badges {
 public:
  explicit Badges(const SearchAnswer& answer) {
    const auto& lists = answer.lists;
    const bool has_engines = std::any_of(lists.begin(), lists.end(), [&](const fetchers::FetchedList& list) {
      return list.query.engine != lists.front().query.engine;
    });
    for (const fetchers::FetchedList& list : lists) {
      const bool is_named_by_engine = has_engines && !list.query.engine.empty();
      names_.push_back(is_named_by_engine || list.query.template_id.empty() ? list.query.engine
                                                                            : list.query.template_id);
      colours_.try_emplace(names_.back(), colours_.size() % kBadgeColours);
    }
  }

  /// Adds the best rank under each name, best first: at most three badges, then how many more there are.
  void add(const FusedResult& result, View& view) const {
    std::vector<std::pair<int, std::string>> ranks;
    for (const Placement& place : result.placements) {
      const std::string& name = names_[place.feature];
      const auto at =
          std::find_if(ranks.begin(), ranks.end(), [&](const auto& one) { return one.second == name; });
      if (at == ranks.end())
        ranks.emplace_back(place.rank, name);
      else
        at->first = std::min(at->first, place.rank);
    }
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostBadges); ++i)
      view.add("BADGE")
          .set("COLOUR", std::to_string(colours_.at(ranks[i].second)))
          .set("NAME", ranks[i].second)
          .set("RANK", std::to_string(ranks[i].first));
    if (ranks.size() > kMostBadges)
      view.add("MORE_BADGES").set("COUNT", std::to_string(ranks.size() - kMostBadges));
  }

 private:
  std::vector<std::string> names_;  ///< of each list
  std::map<std::string, std::size_t> colours_;
};

/// The places that all results would have without one of the lists, computed when first asked for.
class WithoutLists {
 public:
  WithoutLists(const LoadedDomain& domain, const SearchAnswer& answer) : domain_(domain), answer_(answer) {
    std::size_t hits = 0;
    for (const fetchers::FetchedList& list : answer.lists) hits += list.list.hits.size();
    is_affordable_ = hits * answer.lists.size() <= kMostRefusedHits;
  }

  /// "7", or "none" for a result that no other list holds; empty if the place stays the same or is not known.
  std::string place_without(std::size_t result, const std::string& feature) {
    const auto list = std::find_if(answer_.features.begin(), answer_.features.end(),
                                   [&](const fusion::Feature& one) { return one.name == feature; });
    if (!is_affordable_ || list == answer_.features.end()) return {};
    auto [at, is_new] = places_.try_emplace(feature);
    if (is_new) {
      if (!joined_) joined_.emplace(domain_, answer_);
      at->second = joined_->places_without(static_cast<std::size_t>(list - answer_.features.begin()));
    }
    const std::size_t place = at->second[result];
    if (place == result + 1) return {};
    return place == 0 ? "none" : std::to_string(place);
  }

 private:
  const LoadedDomain& domain_;
  const SearchAnswer& answer_;
  bool is_affordable_ = false;
  std::optional<JoinedLists> joined_;
  std::map<std::string, std::vector<std::size_t>> places_;  ///< by feature
};

/// The state that the functions below share while they write one page's results.
struct PageWriter {
  const LoadedDomain& domain;
  const SearchAnswer& answer;
  const Preferences& preferences;
  std::vector<FoldedText> words;
  Badges badges;
  WithoutLists without;
  std::size_t most_reasons;
  const PictureLinks& pictures;
  const FileLinks& files;
  bool has_closed_files = false;  ///< some result is a file that cannot be opened from the page
};

/// The link of a result's title; empty for a file that cannot be opened from the page. The file's path is
/// shown below the title.
std::string target_of(PageWriter& writer, const std::string& url) {
  if (!url.starts_with("file:")) return url;
  std::string link = writer.files.link(writer.answer.domain, url);
  writer.has_closed_files = writer.has_closed_files || link.empty();
  return link;
}

/// Why some files have no link.
std::string why_closed(const FileLinks& files) {
  return files.folders.empty() ? "Some results are files. Browsers do not open them from here: copy their "
                                 "path, or ask the operator to "
                                 "add their folder to the server's \"files\"."
                               : "Some results are files without a link, because they no longer exist, are "
                                 "larger than 16 MiB, or are "
                                 "not below the folders of the server's \"files\".";
}

/// A feature's name, without the engine if all lists are from one engine.
std::string short_name(const SearchAnswer& answer, const std::string& feature) {
  const std::string& engine = answer.lists.front().query.engine;
  const bool is_one =
      std::all_of(answer.lists.begin(), answer.lists.end(), [&](const fetchers::FetchedList& list) {
        return list.query.engine == engine && !list.query.template_id.empty();
      });
  const std::string ending = "@" + engine;
  return is_one && feature.ends_with(ending) ? feature.substr(0, feature.size() - ending.size()) : feature;
}

/// How many rows each explanation may have on a page of `shown` results.
std::size_t reasons_each(const SearchAnswer& answer, std::size_t shown) {
  std::size_t bytes = 0;
  for (const fusion::Feature& feature : answer.features)
    bytes += short_name(answer, feature.name).size() + kRowBytes;
  const std::size_t lists = answer.features.size();
  if (bytes == 0 || shown == 0) return kFewestReasons;
  return std::max(kFewestReasons, kReasonBytes * lists / (bytes * shown));
}

/// The main reason in words: "Number 2 in the list phrase counts most; without that list it would be in place
/// 9."
std::string plain_reason(const Reason& reason, const std::string& name, const std::string& without) {
  if (reason.rank == 0) return {};
  std::string out = fmt::format("Number {} in the list {}", reason.rank, name);
  if (without == "none") return out + ", the only one that has it. ";
  out += " counts most";
  return out + (without.empty() ? "" : "; without that list it would be in place " + without) + ". ";
}

/// What people decided about a result, as a sentence.
std::string decided_reason(const FusedResult& result) {
  if (result.decided == Decided::pinned) return "An operator pinned it for this query. ";
  if (result.decided == Decided::added) return "An operator added it for this query. ";
  if (!result.grade) return {};
  return fmt::format("For this query it was graded {}. ", *result.grade);
}

/// Says how the online reranker moved a result; "" if it did not order it.
std::string moved_text(const SearchAnswer& answer, const FusedResult& result) {
  if (result.moved_from == 0) return {};
  return "; place " + std::to_string(result.moved_from) + " before online learning from " +
         std::to_string(answer.fusion.online_steps) + " examples of feedback moved it";
}

void add_reasons(PageWriter& writer, std::size_t at, View& view) {
  const FusedResult& result = writer.answer.results[at];
  auto reasons = reasons_of(writer.domain, writer.answer, result);
  double most = 0;
  for (const Reason& reason : reasons) most = std::max(most, std::fabs(reason.weight.value_or(0.0)));
  std::erase_if(reasons, [&](const Reason& reason) {
    return reason.weight && std::fabs(*reason.weight) <= kLeastShownShare * most;
  });
  std::string plain;
  for (std::size_t i = 0; i < std::min(reasons.size(), writer.most_reasons); ++i) {
    const Reason& reason = reasons[i];
    const double weight = std::max(0.0, reason.weight.value_or(0.0));
    const int bar = most > 0 ? static_cast<int>(std::lround(kBarSteps * weight / most)) : 0;
    const std::string without = writer.without.place_without(at, reason.feature);
    const std::string name = short_name(writer.answer, reason.feature);
    if (i == 0) plain = plain_reason(reason, name, without);
    View& row = view.add("WHY");
    if (!without.empty()) row.add("OTHER").set("O", without);
    row.set("F", name)
        .set("R", reason.rank > 0 ? std::to_string(reason.rank) : "–")
        .set("B", std::to_string(bar))
        .set("W", weight_text(reason));
  }
  view.set("SCORE", fmt::format("{}{}Place {}, score {}{}.", decided_reason(result), plain, at + 1,
                                short_number(result.score), moved_text(writer.answer, result)));
  if (reasons.size() > writer.most_reasons)
    view.add("REST").set("TEXT",
                         fmt::format("and {} more of less weight", reasons.size() - writer.most_reasons));
}

void add_marked(std::string_view text, const std::vector<FoldedText>& words, std::string_view name,
                View& view) {
  for (const MarkedPiece& piece : marked(text, words)) {
    View& part = view.add(name);
    part.set("T", piece.plain);
    if (!piece.match.empty()) part.add("HIT").set("M", piece.match);
  }
}

/// "2024-05-01 · Deutsch · pdf": a result's date, language and type, as far as known. The language that the
/// reader prefers is not repeated.
std::string small_text(const Hit& hit, const Preferences& preferences) {
  std::string out;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) out += std::string(out.empty() ? "" : " · ") + std::string(text);
  };
  add(std::string_view(hit.published).substr(0, 10));
  if (hit.language != preferences.language) add(language_name(hit.language));
  add(shown_file_type(hit.url));
  return out;
}

/// What people decided about a result: "judged 3", "pinned".
std::string decided_text(const FusedResult& result) {
  std::string out(name_of(result.decided));
  if (result.grade) out += fmt::format("{}judged {}", out.empty() ? "" : ", ", *result.grade);
  return out;
}

/// Results folded below another one, as links behind "2 more like this".
void add_folded(PageWriter& writer, const std::vector<Hit>& hits, std::string_view what, View& view) {
  if (hits.empty()) return;
  View& folded = view.add("FOLDED");
  folded.set("COUNT", fmt::format("{} {}", hits.size(), what));
  for (std::size_t i = 0; i < std::min(hits.size(), kMostFolded); ++i) {
    const ReadableAddress address = readable_address(hits[i].url);
    View& item = folded.add("HIT");
    item.set("T", cut_text(hits[i].title.empty() ? hits[i].url : hits[i].title, kTitleBytes));
    item.set("WHERE", address.host + address.path);
    const std::string target = target_of(writer, hits[i].url);
    if (target.empty()) continue;
    item.add("LINK").set("URL", target);
    item.add("LINK_END");
  }
}

void add_result(PageWriter& writer, std::size_t at, View& page) {
  const Hit& hit = writer.answer.results[at].hit;
  View& view = page.add("RESULT");
  const ReadableAddress address = readable_address(hit.url);
  view.set("HOST_TEXT", address.host).set("PATH", address.path);
  const std::string target = target_of(writer, hit.url);
  if (!target.empty()) {
    View& link = view.add("LINK");
    link.set("URL", target);
    if (writer.preferences.opens_new_tab) link.add("NEW_TAB");
    if (!hit.language.empty()) link.add("LANG").set("TAG", hit.language);
    view.add("LINK_END");
  }
  if (const std::string icon = writer.pictures.link(PictureKind::icon, hit.url); !icon.empty())
    view.add("ICON").set("PICTURE", icon);
  if (const std::string picture = writer.pictures.link(PictureKind::thumbnail, hit.thumbnail);
      !picture.empty())
    view.add("THUMBNAIL").set("PICTURE", picture);
  add_marked(hit.title.empty() ? cut_text(hit.url, 140) : cut_text(hit.title, kTitleBytes), writer.words,
             "TITLE_PART", view);
  if (!hit.snippet.empty()) {
    View& snippet = view.add("SNIPPET");
    if (!hit.language.empty()) snippet.add("LANG").set("TAG", hit.language);
    add_marked(excerpt(hit.snippet, writer.words, kSnippetBytes), writer.words, "TEXT_PART", snippet);
  }
  add_folded(writer, writer.answer.results[at].alike, "more like this", view);
  add_folded(writer, writer.answer.results[at].same_site, "more from this site", view);
  if (const std::string details = small_text(hit, writer.preferences); !details.empty())
    view.add("DETAILS").set("TEXT", details);
  if (const std::string decided = decided_text(writer.answer.results[at]); !decided.empty())
    view.add("DECIDED").set("TEXT", decided);
  writer.badges.add(writer.answer.results[at], view);
  add_reasons(writer, at, view);
  if (const std::string host = host_of(hit.url); !host.empty() && !hit.url.starts_with("file:"))
    view.add("SITE").set("HOST", host);
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

/// Whether the engines hold more results than they were asked for.
bool is_about(const LoadedDomain& domain, const SearchAnswer& answer) {
  return answer.windows > 1 || may_hold_more(answer, domain.domain.depth);
}

/// "4 results", "About 95 results in 0.02 s": the same number on every page of a search. "About" means that
/// the engines hold more than they were asked for.
std::string summary_of(const LoadedDomain& domain, const SearchAnswer& answer, const PageRequest& request,
                       const SitePreferences& sites) {
  const auto limit = static_cast<std::size_t>(request.parameters->limit);
  const std::size_t hidden = blocked_results(answer, sites) + answer.hidden;
  const std::size_t total = stable_total(answer, domain.domain.depth, limit + hidden);
  const std::size_t shown = total > hidden ? total - hidden : 0;
  std::string out = is_about(domain, answer) ? "About " : "";
  out += counted(shown, "result", "results");
  const double seconds = answer.fetch_seconds + answer.fuse_seconds;
  if (seconds > 0) out += seconds < 0.01 ? " in less than 0.01 s" : fmt::format(" in {:.2f} s", seconds);
  return out;
}

std::string how_found(const LoadedDomain& domain, const SearchAnswer& answer) {
  std::string out =
      fmt::format("{}, fused by {}", counted(answer.lists.size(), "list", "lists"), answer.fusion.method);
  if (!answer.fusion.version.empty()) out += fmt::format(" (model {})", answer.fusion.version);
  out += '.';
  if (is_about(domain, answer)) out += " The engines have more results than they were asked for.";
  if (answer.left_out > 0)
    out += fmt::format(" {} left out, because the engines cannot search for all of your conditions.",
                       counted(answer.left_out, "result was", "results were"));
  if (!answer.fusion.notice.empty()) out += " Notice: " + answer.fusion.notice + '.';
  return out;
}

void add_suggestions(const SearchAnswer& answer, View& page) {
  if (answer.suggestions.empty()) return;
  View& suggestions = page.add("SUGGESTIONS");
  for (std::size_t i = 0; i < std::min(kMostRelated, answer.suggestions.size()); ++i)
    suggestions.add("SUGGESTION").set("TEXT", answer.suggestions[i]).set("DOMAIN_NAME", answer.domain);
}

void add_narrowing(const SearchAnswer& answer, const PageRequest& request, const SearchLinks& links,
                   View& page) {
  const auto active = conditions_to_take_away(answer, *request.parameters, links);
  if (!active.empty()) {
    View& chips = page.add("CHIPS");
    for (const FilterLink& link : active) chips.add("CHIP").set("TEXT", link.text).set("URL", link.url);
  }
  const auto offered = offered_filters(answer, *request.parameters, links, request.now);
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
  const int limit = request.parameters->limit;
  const int known =
      static_cast<int>((shown.total + static_cast<std::size_t>(limit) - 1) / static_cast<std::size_t>(limit));
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

/// For a search without results: how the query was understood, and what might help.
void add_nothing(const SearchAnswer& answer, View& page) {
  View& view = page.add("NOTHING");
  if (!answer.typed.terms.empty()) view.add("UNDERSTOOD").set("WORDS", answer.typed.words());
  if (answer.typed.terms.size() > 1) view.add("FEWER");
  if (!answer.typed.conditions.empty()) view.add("CONDITIONS");
  if (answer.left_out > 0) view.add("LEFT_OUT").set("COUNT", counted(answer.left_out, "result", "results"));
}

/// The slots of an answer, with the plain query in the slot that it filled, for the form.
BaseQuery slots_in_form(const LoadedDomain& domain, const SearchAnswer& answer) {
  BaseQuery slots = answer.slots;
  if (answer.query != query_text({}, slots)) slots.slots.emplace(plain_slot(domain.domain), answer.query);
  return slots;
}

}  // namespace

std::string results_page(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& request) {
  const LoadedDomain& domain = *exchange.snapshot->find_domain(answer.domain);
  const ShownResults& shown = *request.shown;
  const SearchLinks links(*request.fields);
  View view = page_view(&exchange, answer.query + " – metafuse", answer.query, answer.domain);
  add_tabs(exchange, domain, answer.query, view);
  add_slots_form(domain, slots_in_form(domain, answer), view);
  view.set("SUMMARY", summary_of(domain, answer, request, exchange.preferences.sites))
      .set("HOW", how_found(domain, answer));
  view.set("FIRST", std::to_string(shown.first + 1)).set("SEARCH_ID", shown.search_id);
  view.set("BACK", links.here());
  add_narrowing(answer, request, links, view);
  add_failures(answer, view);
  add_suggestions(answer, view);
  add_correction(request, links, view);
  if (answer.results.empty()) add_nothing(answer, view);
  PageWriter writer{domain,
                    answer,
                    exchange.preferences,
                    words_to_mark(answer),
                    Badges(answer),
                    WithoutLists(domain, answer),
                    reasons_each(answer, shown.positions.size()),
                    request.pictures,
                    request.files};
  for (const std::size_t at : shown.positions) add_result(writer, at, view);
  if (writer.has_closed_files) view.add("CLOSED_FILES").set("WHY", why_closed(writer.files));
  if (const SitePreferences& sites = exchange.preferences.sites; !sites.is_empty())
    add_sites(sites, "PREFERENCE", view.add("PREFERENCES"));
  add_pages(domain, answer, request, links, view);
  return render_page("search", view);
}

}  // namespace metafuse::service
