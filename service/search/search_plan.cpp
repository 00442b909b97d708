#include "service/search/search_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/number.h"
#include "service/search/answer_cache.h"
#include "service/search/second_stage.h"

namespace metafuse::service {
namespace {

constexpr int kMostHops = 99;

bool is_scoped(const KeyConfig* key) {
  return key != nullptr && (!key->domains.empty() || !key->engines.empty() || !key->tokens.empty());
}

/// Keeps those of the request's engines that its key may ask. If the request names none, takes those of the
/// key's scope, or, if an engine or a reranker of the domain is barred, the others.
///
/// out: the refusal if none remains that a template asks
std::optional<AccessRefusal> leave_out_barred(const KeyConfig* key, const Snapshot& snapshot,
                                              const LoadedDomain& domain, std::vector<std::string>& engines) {
  const bool has_scope = key != nullptr && !key->engines.empty();
  if (!has_scope && snapshot.engines.private_engines.empty()) return std::nullopt;
  std::vector<std::string> of_domain;
  for (const templates::SearchTemplate& item : domain.domain.templates)
    of_domain.insert(of_domain.end(), item.engines.begin(), item.engines.end());
  std::vector<std::string> askable = of_domain;
  for (const templates::RerankList& list : domain.domain.rerank)
    if (!list.engine.empty()) askable.push_back(list.engine);
  std::vector<std::string> asked = !engines.empty() ? engines : has_scope ? key->engines : askable;
  const auto asks_none = [&] { return std::ranges::find_first_of(of_domain, asked) == of_domain.end(); };
  const auto leave_out = [&](Barrier barrier) {
    return std::erase_if(
        asked, [&](const std::string& name) { return snapshot.engines.barrier(key, name) == barrier; });
  };
  leave_out(Barrier::scope);
  if (has_scope && asks_none()) return AccessRefusal{403, "scope", "the key may not ask these engines"};
  if (leave_out(Barrier::token) > 0) {
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  } else if (!has_scope) {
    return std::nullopt;
  }
  if (asks_none())
    return AccessRefusal{403, "scope",
                         "these engines are private; a key with one of their tokens may ask them"};
  engines = std::move(asked);
  return std::nullopt;
}

/// How many meta-search servers a request has passed through, as counted by the last one. A malformed count
/// is taken as the maximum, so that it cannot hide a loop.
int hops_of(const HttpRequest& request) {
  const std::string_view header = request.header("X-Metafuse-Hops");
  std::int64_t hops = 0;
  if (header.empty()) return 0;
  if (!to_integer(header, hops) || hops < 0 || hops > kMostHops) return kMostHops;
  return static_cast<int>(hops);
}

}  // namespace

std::string SearchPlan::shared_key(int windows) const {
  return windows <= 1 ? digest : digest + ":windows:" + std::to_string(windows);
}

std::string SearchPlan::cache_key(int windows) const {
  return std::to_string(exchange.snapshot->generation) + ' ' + shared_key(windows);
}

void set_client(const Exchange& exchange, PreparedSearch& search) {
  search.sender = exchange.sender();
  search.request.hops = hops_of(exchange.request);
  for (const std::string& name : exchange.snapshot->engines.forwarded)
    if (const std::string_view value = exchange.request.header(name); !value.empty())
      search.request.forwarded.emplace_back(name, value);
}

OrRefusal<PreparedSearch> prepare_for_client(const Exchange& exchange, const LoadedDomain& domain,
                                             SearchRequest request, const Clock& clock) {
  const Snapshot& snapshot = *exchange.snapshot;
  const bool names_engines = !request.engines.empty();
  if (auto refused = leave_out_barred(exchange.key, snapshot, domain, request.engines)) return *refused;
  request.are_engines_allowed_ones = !names_engines;
  auto prepared = prepare_search(snapshot, domain, std::move(request), clock);
  if (!prepared) return refusal(prepared.error());
  set_client(exchange, *prepared);
  return std::move(*prepared);
}

std::size_t first_requests(const PreparedSearch& search) {
  return search.queries.size() + rerankers_asked(search.domain.domain, search.request);
}

OrRefusal<const LoadedDomain*> domain_for(const Snapshot& snapshot, std::string_view name,
                                          const KeyConfig* key) {
  const auto found = named_domain(snapshot, name, key);
  if (found) return *found;
  if (key != nullptr && !key->may_use_domain(name))  // whether there is such a domain or not
    return AccessRefusal{403, "scope", "the key may not search this domain"};
  return refusal(found.error());
}

OrRefusal<SearchPlan> plan_search(const Exchange& exchange, SearchRequest request, const Clock& clock) {
  const TimePoint began = clock.now();
  const Snapshot& snapshot = *exchange.snapshot;
  TRY(const LoadedDomain* const domain, domain_for(snapshot, request.domain, exchange.key));
  TRY(auto prepared, prepare_for_client(exchange, *domain, std::move(request), clock));
  std::string digest = shared_key(*domain, prepared.request);
  return SearchPlan{exchange, std::move(prepared), std::move(digest), began, clock.now()};
}

bool is_answer_shared(const Exchange& exchange) {
  return !is_scoped(exchange.key) && exchange.snapshot->engines.forwarded.empty();
}

}  // namespace metafuse::service
