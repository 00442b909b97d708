#include "service/search/shown_results.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "core/site.h"
#include "core/url.h"
#include "service/base/addresses.h"
#include "service/search/alike_results.h"
#include "service/search/list_fusion.h"
#include "service/search/result_pages.h"

namespace metafuse::service {
namespace {

/// Whether a path is the other one or lies below it.
bool is_below(std::string_view path, std::string_view top) {
  return path.starts_with(top) && (path.size() == top.size() || top.empty() || path[top.size()] == '/');
}

/// Sorts results by window again, stably, after some came up in theirs. None may then have more than those
/// above it, because clients sort by that again.
void settle_windows(SearchAnswer& answer) {
  std::vector<std::size_t> order(answer.results.size() - answer.hidden);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return answer.results[at].window; });
  answer.reorder(order);
  double above = 1.0;
  for (std::size_t i = 0; i < order.size(); ++i)
    above = answer.results[i].relative_score = std::min(above, answer.results[i].relative_score);
}

}  // namespace

std::vector<std::size_t> seen_positions(const SearchAnswer& answer, const SitePreferences& preferences) {
  const SiteSet raised(preferences.raised), lowered(preferences.lowered), blocked(preferences.blocked);
  struct Place {
    std::uint32_t window;
    long within;
    std::size_t position;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < answer.results.size() - answer.hidden; ++i) {
    const FusedResult& result = answer.results[i];
    const PageAddress page(preferences.is_empty() ? std::string_view() : result.hit.url);
    if (blocked.contains(page)) continue;
    long within = 2 * static_cast<long>(i);
    // the odd offset puts a moved result just beyond the kPreferenceRanks results that it passes
    if (raised.contains(page)) within -= 2 * static_cast<long>(kPreferenceRanks) + 1;
    if (lowered.contains(page)) within += 2 * static_cast<long>(kPreferenceRanks) + 1;
    places.push_back({result.window, within, i});
  }
  std::ranges::sort(places);
  std::vector<std::size_t> out;
  for (const Place& place : places) out.push_back(place.position);
  return out;
}

ShownResults shown_results(const SearchAnswer& answer, int page, int limit,
                           const SitePreferences& preferences) {
  ShownResults out;
  const auto seen = seen_positions(answer, preferences);
  out.total = seen.size();
  if (limit <= 0) return out;
  const ResultPages pages(answer, seen, static_cast<std::size_t>(limit));
  const auto shown = pages.range_of(static_cast<std::size_t>(page));
  out.first = shown.begin;
  out.end_of_room = static_cast<std::size_t>(page) * static_cast<std::size_t>(limit);
  out.positions.assign(seen.begin() + static_cast<std::ptrdiff_t>(shown.begin),
                       seen.begin() + static_cast<std::ptrdiff_t>(shown.end));
  out.pages = pages.count();
  out.on_first_asked = pages.seen_by_first();
  return out;
}

bool may_go_on(const SearchAnswer& answer, const ShownResults& shown, int depth) {
  if (shown.first + shown.positions.size() < shown.total) return true;
  return may_hold_more(answer, depth) && !is_beyond_all(answer, depth, shown.end_of_room);
}

SharedAnswer without_blocked(SharedAnswer answer, const SitePreferences& preferences) {
  if (preferences.blocked.empty()) return answer;
  const SiteSet blocked(preferences.blocked);
  const auto is_blocked = [&](const Hit& hit) { return blocked.contains(PageAddress(hit.url)); };
  const auto has_blocked = [&](const FusedResult& result) {
    const bool is_folded = !result.alike.empty() || !result.same_site.empty();
    return is_folded && (is_blocked(result.hit) || std::ranges::any_of(result.alike, is_blocked) ||
                         std::ranges::any_of(result.same_site, is_blocked));
  };
  if (std::ranges::none_of(answer->results, has_blocked)) return answer;
  auto out = std::make_shared<SearchAnswer>(*answer);
  std::vector<FusedResult> risen;
  for (FusedResult& result : out->results)
    choose_head(
        result, is_blocked, [](const Hit&) { return false; }, risen);
  if (risen.empty()) return out;
  const auto end = static_cast<std::ptrdiff_t>(out->results.size() - out->hidden);
  if (!out->teams.empty()) out->teams.insert(out->teams.begin() + end, risen.size(), Team::none);
  out->results.insert(out->results.begin() + end, std::make_move_iterator(risen.begin()),
                      std::make_move_iterator(risen.end()));
  settle_windows(*out);
  return out;
}

Vocabularies usable_vocabularies(const Exchange& exchange, const LoadedDomain& domain) {
  const LoadedEngines& engines = exchange.snapshot->engines;
  Vocabularies usable;
  for (const templates::SearchTemplate& item : domain.domain.templates)
    for (const std::string& engine : item.engines)
      if (const auto at = engines.vocabularies.find(engine);
          at != engines.vocabularies.end() && engines.may_ask(exchange.key, engine))
        usable.push_back(at->second);
  Vocabularies out = domain.vocabularies;
  std::erase_if(out, [&](const auto& one) { return std::ranges::find(usable, one) == usable.end(); });
  return out;
}

std::optional<CorrectedQuery> corrected_query(const LoadedDomain& domain, const Vocabularies& vocabularies,
                                              const std::string& typed) {
  if (typed.empty()) return std::nullopt;
  for (const auto& vocabulary : vocabularies)
    if (auto corrected = vocabulary->correct(typed)) {
      corrected->is_sure = corrected->is_sure && domain.asks_one_index;
      return corrected;
    }
  return std::nullopt;
}

std::string_view path_of(std::string_view url) {
  if (has_scheme(url)) url.remove_prefix(url.find("://") + 3);
  url.remove_prefix(std::min(url.find_first_of("/?#"), url.size()));
  return url.substr(0, url.find_first_of("?#"));
}

PageAddress::PageAddress(std::string_view url) : host(ascii_host(host_of(url))), path(path_of(url)) {}

SiteSet::SiteSet(const std::vector<std::string>& sites) {
  for (const std::string& text : sites) {
    Site site = read_site(text);
    if (!site.host.empty() && site.host.size() <= kMaxSiteBytes)
      paths_[std::move(site.host)].push_back(std::move(site.path));
  }
}

bool SiteSet::contains(const PageAddress& page) const {
  if (paths_.empty()) return false;
  std::string_view host = page.host;
  if (host.size() > kMaxSiteBytes) host.remove_prefix(host.find('.', host.size() - kMaxSiteBytes - 1) + 1);
  for (;;) {
    if (const auto at = paths_.find(host); at != paths_.end())
      for (const std::string& path : at->second)
        if (is_below(page.path, path)) return true;
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) return false;
    host.remove_prefix(dot + 1);
  }
}

}  // namespace metafuse::service
