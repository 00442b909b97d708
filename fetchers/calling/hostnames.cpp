#include "fetchers/calling/hostnames.h"

#include <algorithm>

#include "fetchers/answers/part_text.h"

namespace metafuse::fetchers {
namespace {

/// Where the host stands in a URL, with its port.
std::pair<std::size_t, std::size_t> place_of_host(const std::string& url) {
  const std::size_t begin = std::min(url.find("://"), url.size() - std::min<std::size_t>(3, url.size())) + 3;
  if (begin >= url.size()) return {url.size(), 0};
  return {begin, std::min(url.find_first_of("/?#", begin), url.size()) - begin};
}

std::string host_of(const std::string& url) {
  const auto [begin, size] = place_of_host(url);
  return url.substr(begin, size);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& host) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matched_groups(pattern, host).has_value(); });
}

void replace_host(std::string& url, const HostnameRules& rules) {
  const auto [begin, size] = place_of_host(url);
  const std::string host = url.substr(begin, size);
  for (const auto& [pattern, replacement] : rules.replace) {
    PartRule rule;
    rule.replaced = {{pattern, replacement}};
    const auto changed = changed_text(rule, host);
    if (!changed || *changed == host || changed->empty()) continue;
    url.replace(begin, size, *changed);
    return;
  }
}

}  // namespace

void apply_hostnames(RankedList& list, const HostnameRules& rules) {
  if (rules.empty()) return;
  std::erase_if(list.hits, [&](const Hit& hit) { return matches_any(rules.remove, host_of(hit.url)); });
  for (Hit& hit : list.hits) replace_host(hit.url, rules);
  if (!rules.high_priority.empty())
    std::stable_partition(list.hits.begin(), list.hits.end(),
                          [&](const Hit& hit) { return matches_any(rules.high_priority, host_of(hit.url)); });
  if (!rules.low_priority.empty())
    std::stable_partition(list.hits.begin(), list.hits.end(),
                          [&](const Hit& hit) { return !matches_any(rules.low_priority, host_of(hit.url)); });
}

}  // namespace metafuse::fetchers
