#include "service/search/shown_results.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "service/base/addresses.h"
#include "service/search/alike_results.h"

namespace metafuse::service {
namespace {

/// A site's name without "*." and "www.", in lower case.
std::string plain_site(std::string_view text) {
  std::string site = ascii_lower(text);
  if (site.starts_with("*.")) site.erase(0, 2);
  if (site.starts_with("www.")) site.erase(0, 4);
  return site;
}

/// Positions in the user's order: blocked sites are left out, raised and lowered ones move by
/// kPreferenceRanks; stable.
std::vector<std::size_t> preferred_order(const SearchAnswer& answer, const SitePreferences& preferences) {
  const SiteSet raised(preferences.raised), lowered(preferences.lowered), blocked(preferences.blocked);
  std::vector<std::pair<long, std::size_t>> keyed;
  for (std::size_t i = 0; i < answer.results.size() - answer.hidden; ++i) {
    const std::string host = host_of(answer.results[i].hit.url);
    if (blocked.contains(host)) continue;
    long key = 2 * static_cast<long>(i);
    // the odd offset puts a moved result just beyond the kPreferenceRanks results that it passes
    if (raised.contains(host)) key -= 2 * static_cast<long>(kPreferenceRanks) + 1;
    if (lowered.contains(host)) key += 2 * static_cast<long>(kPreferenceRanks) + 1;
    keyed.emplace_back(key, i);
  }
  std::stable_sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> out;
  for (const auto& [key, i] : keyed) out.push_back(i);
  return out;
}

}  // namespace

ShownResults shown_results(const SearchAnswer& answer, std::size_t first, int limit,
                           const SitePreferences& preferences) {
  ShownResults out;
  out.first = first;
  if (preferences.is_empty()) {
    out.total = answer.results.size() - answer.hidden;
    for (std::size_t i = first; i < out.total && out.positions.size() < static_cast<std::size_t>(limit); ++i)
      out.positions.push_back(i);
    return out;
  }
  const auto order = preferred_order(answer, preferences);
  out.total = order.size();
  for (std::size_t i = first; i < out.total && out.positions.size() < static_cast<std::size_t>(limit); ++i)
    out.positions.push_back(order[i]);
  return out;
}

SharedAnswer without_blocked(SharedAnswer answer, const SitePreferences& preferences) {
  if (preferences.blocked.empty()) return answer;
  const SiteSet blocked(preferences.blocked);
  const auto is_blocked = [&](const Hit& hit) { return blocked.contains(host_of(hit.url)); };
  const auto has_blocked = [&](const FusedResult& result) {
    const bool is_folded = !result.alike.empty() || !result.same_site.empty();
    return is_folded && (is_blocked(result.hit) || std::ranges::any_of(result.alike, is_blocked) ||
                         std::ranges::any_of(result.same_site, is_blocked));
  };
  if (std::ranges::none_of(answer->results, has_blocked)) return answer;
  auto out = std::make_shared<SearchAnswer>(*answer);
  for (FusedResult& result : out->results) choose_head(result, is_blocked, [](const Hit&) { return false; });
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

std::size_t blocked_results(const SearchAnswer& answer, const SitePreferences& preferences) {
  if (preferences.blocked.empty()) return 0;
  const SiteSet blocked(preferences.blocked);
  return static_cast<std::size_t>(
      std::count_if(answer.results.begin(), answer.results.end(),
                    [&](const FusedResult& result) { return blocked.contains(host_of(result.hit.url)); }));
}

SiteSet::SiteSet(const std::vector<std::string>& sites) {
  for (const std::string& text : sites)
    if (std::string site = plain_site(text); !site.empty() && site.size() <= kMaxSiteBytes)
      sites_.insert(std::move(site));
}

bool SiteSet::contains(std::string_view host) const {
  if (sites_.empty()) return false;
  if (host.size() > kMaxSiteBytes) host.remove_prefix(host.find('.', host.size() - kMaxSiteBytes - 1) + 1);
  for (;;) {
    if (sites_.contains(host)) return true;
    const std::size_t dot = host.find('.');
    if (dot == std::string_view::npos) return false;
    host.remove_prefix(dot + 1);
  }
}

bool is_under_site(std::string_view host, std::string_view site_in) {
  const std::string site = plain_site(site_in);
  if (site.empty()) return false;
  return host == site ||
         (host.size() > site.size() && host.ends_with(site) && host[host.size() - site.size() - 1] == '.');
}

}  // namespace metafuse::service
