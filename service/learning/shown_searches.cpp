#include "service/learning/shown_searches.h"

#include <memory>
#include <utility>

#include "core/random.h"
#include "service/base/addresses.h"
#include "service/learning/decisions.h"
#include "service/learning/feedback.h"
#include "service/learning/interleaving.h"

namespace metafuse::service {
namespace {

/// Whose share of the store's bytes a request takes. Those with a key are known and have no share.
std::string storing_share(const Exchange& exchange) {
  return exchange.key != nullptr ? std::string() : exchange.sender();
}

std::shared_ptr<const DomainDecisions> decisions_of(Records& records, const Snapshot& snapshot,
                                                    const LoadedDomain& domain) {
  if (records.decisions == nullptr) return nullptr;
  const ServerConfig& config = snapshot.config;
  return records.decisions->of(
      domain.domain.name,
      {config.learning.are_judged_first, identity_of(records, snapshot, domain), &config.tracking});
}

/// Stores a search once more, and makes the id under which this client knows it; "" if that is not possible.
std::string deliver(Records& records, const Exchange& exchange,
                    const std::shared_ptr<const StoredSearch>& search) {
  if (!records.search_log->add(search, storing_share(exchange))) return {};
  return delivered_id(records.secret, search->id, address_prefix(exchange.client));
}

/// in: times - how many searches it counts as
void store_search(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                  const SearchAnswer& answer, std::uint64_t times, ShownResults& shown) {
  if (records.search_log == nullptr) return;
  if (shown.positions.empty() && !answer.results.empty()) return;  // a page beyond the last result
  const StoreIdentity identity = identity_of(records, *exchange.snapshot, domain);
  StoredSearch made = stored_search(answer, shown.positions, identity, records.unix_time());
  made.times = times;
  auto search = std::make_shared<const StoredSearch>(std::move(made));
  shown.search_id = deliver(records, exchange, search);
  if (!shown.search_id.empty()) shown.search = std::move(search);
}

}  // namespace

bool is_interleaving(const Records& records, const Snapshot& snapshot, const LoadedDomain& domain) {
  return snapshot.config.learning.interleave_share > 0 && records.store != nullptr &&
         domain.challenger.has_value();
}

SharedAnswer learned_order(Records& records, const Snapshot& snapshot, const LoadedDomain& domain,
                           std::string_view digest, SharedAnswer answer) {
  const LearningConfig& learning = snapshot.config.learning;
  if (is_interleaving(records, snapshot, domain)) {
    Random random(interleaving_seed(digest, records.unix_time()));
    if (is_interleaved(learning.interleave_share, random))
      return std::make_shared<const SearchAnswer>(interleaved_answer(domain, *answer, random.next()));
  }
  if (!learning.has_online_reranker || records.online_rerankers == nullptr || answer->results.empty())
    return answer;
  const RerankerPointer reranker = records.online_rerankers->find(domain);
  if (reranker == nullptr) return answer;
  return std::make_shared<const SearchAnswer>(reranked_answer(domain, *answer, *reranker));
}

StoreIdentity identity_of(const Records& records, const Snapshot& snapshot, const LoadedDomain& domain) {
  return {records.secret, snapshot.config.privacy.hash_queries, plain_slot(domain.domain)};
}

std::vector<std::string> synonyms_of(Records& records, const Exchange& exchange,
                                     const SearchRequest& request) {
  const LoadedDomain* domain = exchange.find_domain(request.domain);
  if (domain == nullptr) return {};
  const auto decisions = decisions_of(records, *exchange.snapshot, *domain);
  if (decisions == nullptr) return {};
  return alternatives_of(decisions->synonyms, request.text);
}

SharedAnswer decided(Records& records, const Snapshot& snapshot, const LoadedDomain& domain,
                     SharedAnswer answer) {
  const auto decisions = decisions_of(records, snapshot, domain);
  if (decisions == nullptr || decisions->queries.empty()) return answer;
  const StoreIdentity identity = identity_of(records, snapshot, domain);
  const auto at = decisions->queries.find(digest_of(*answer, identity));
  if (at == decisions->queries.end()) return answer;
  return std::make_shared<const SearchAnswer>(decided_answer(*answer, at->second, identity));
}

void store_shown(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                 const SearchAnswer& answer, ShownResults& shown) {
  if (may_be_stored(exchange.request)) store_search(records, exchange, domain, answer, 1, shown);
}

ShownResults show_to_judge(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                           const SearchAnswer& answer, std::vector<std::size_t> positions) {
  ShownResults shown;
  shown.total = positions.size();
  shown.positions = std::move(positions);
  store_search(records, exchange, domain, answer, 0, shown);
  return shown;
}

std::string stored_again(Records& records, const Exchange& exchange, RepeatedSearch& search) {
  return deliver(records, exchange, search.at(records.secret, records.unix_time()));
}

}  // namespace metafuse::service
