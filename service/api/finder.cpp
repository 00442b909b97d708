#include "service/api/finder.h"

#include <memory>
#include <utility>

#include "core/digest.h"
#include "service/learning/shown_searches.h"
#include "service/search/reasons.h"
#include "service/search/relevance_cut.h"
#include "service/search/result_pages.h"
#include "service/search/result_passages.h"
#include "service/search/second_stage.h"

namespace metafuse::service {

namespace {

std::size_t lists_asked(const SearchAnswer& answer) {
  return answer.lists.size() - answer.second_stage;
}

}  // namespace

HttpResponse FoundSearch::response(HttpResponse rendered, std::vector<GapMark> marks) const {
  if (!shown.search_id.empty()) marks.push_back({Gap::search_id, shown.search_id, shown.search_id});
  if (const std::string missing = failed_engines(*answer); !missing.empty())
    rendered.set("X-Unresponsive-Engines", missing);
  auto search = shown.search == nullptr ? nullptr : std::make_shared<RepeatedSearch>(shown.search);
  rendered.repeat =
      std::make_shared<const Repeat>(Repeat{std::move(marks), repeated, found, std::move(search),
                                            answer->lists.size(), answer->domain, answer->fusion.method});
  return rendered;
}

OrRefusal<FoundSearch> Finder::find(const Exchange& exchange, const WantedSearch& wanted,
                                    const SearchEvents& events) {
  const LoadedDomain* domain = exchange.find_domain(wanted.search.domain);
  const bool is_corrected = wanted.correction != Correction::none && domain != nullptr;
  const auto corrected =
      is_corrected ? corrected_query(*domain, usable_vocabularies(exchange, *domain), wanted.search.text)
                   : std::nullopt;
  const bool may_ask = corrected && wanted.correction == Correction::asked;
  if (may_ask && corrected->is_sure)
    if (auto instead = find_corrected(exchange, wanted, corrected->text, events)) return std::move(*instead);
  TRY(auto found, find_typed(exchange, wanted, events));
  if (may_ask && !corrected->is_sure && found.answer->results.empty())
    if (auto instead = find_corrected(exchange, wanted, corrected->text, {})) return std::move(*instead);
  if (corrected) found.shown.corrections = {corrected->text};
  return found;
}

/// The answer to the corrected query; nothing if it has no results either.
std::optional<FoundSearch> Finder::find_corrected(const Exchange& exchange, const WantedSearch& wanted,
                                                  const std::string& corrected, const SearchEvents& events) {
  WantedSearch instead = wanted;
  instead.search.text = corrected;
  auto found = find_typed(exchange, instead, events);
  if (!found || found->answer->results.empty()) return std::nullopt;
  found->shown.corrections = {corrected};
  found->shown.typed = wanted.search.text;
  return std::move(*found);
}

OrRefusal<FoundSearch> Finder::find_typed(const Exchange& exchange, const WantedSearch& wanted,
                                          const SearchEvents& events) {
  SearchRequest request = wanted.search;
  request.asks_all = request.asks_all || wanted.is_for_judge;
  request.synonyms = synonyms_of(records_, exchange, request);
  TRY(const SearchPlan plan, plan_search(exchange, std::move(request), clock_));
  const LoadedDomain& domain = plan.prepared.domain;
  if (const auto able = check_min_relevance(domain, wanted.search.min_relevance); !able)
    return refusal(able.error());
  if (auto refused =
          gate_.admit_search(exchange, first_requests(plan.prepared), plan.prepared.request.has_raw()))
    return std::move(*refused);
  if (events.on_admitted) events.on_admitted();
  PartialAnswer on_partial;
  if (events.on_partial)
    on_partial = [&](const SearchAnswer& so_far, std::size_t arrived, std::size_t lists) {
      events.on_partial(*for_reader(plan, wanted, std::make_shared<const SearchAnswer>(so_far)), arrived,
                        lists);
    };
  auto answer = search(plan, wanted, on_partial);
  if (!answer) return refusal(answer.error());
  FoundSearch found{for_reader(plan, wanted, std::move(*answer)), &domain, {}, {}, clock_.now()};
  if (wanted.limit > 0)
    found.shown = shown_results(*found.answer, wanted.search.page, wanted.limit, wanted.sites);
  const SharedAnswer fused = found.answer;
  found.answer = with_passages(plan.prepared, std::move(found.answer), found.shown, clock_);
  const bool is_stored = wanted.limit > 0 && wanted.is_stored && records_.search_log != nullptr;
  if (is_stored) store_shown(records_, exchange, domain, *found.answer, found.shown);
  // an answer without a search id, because it could not be stored, must not be sent again
  const bool is_whole = !is_stored || found.shown.search != nullptr;
  if (is_whole && may_be_repeated(plan)) found.repeated = source_.popular_until(plan, *fused);
  return found;
}

/// The answer after what people decided about it: judges and operators, then the reader by preferences and
/// the request's least relevance.
SharedAnswer Finder::for_reader(const SearchPlan& plan, const WantedSearch& wanted, SharedAnswer answer) {
  const PreparedSearch& prepared = plan.prepared;
  if (!wanted.is_for_judge) answer = decided(records_, prepared.snapshot, prepared.domain, std::move(answer));
  answer = without_blocked(std::move(answer), wanted.sites);
  return with_min_relevance(std::move(answer), wanted.search.min_relevance);
}

/// Counts the lists that the first ones made necessary. If less is left of the quota, it is used up, so that
/// the next search is refused.
void Finder::charge_further_lists(const SearchPlan& plan, const SearchAnswer& answer) {
  const std::size_t asked = lists_asked(answer);
  if (asked <= plan.prepared.queries.size()) return;
  std::size_t further = asked - plan.prepared.queries.size();
  if (!gate_.admit_search(plan.exchange, further, plan.prepared.request.has_raw())) return;
  while (further > 0 && !gate_.admit_search(plan.exchange, 1, plan.prepared.request.has_raw())) --further;
}

/// Whether the reader's page needs one more window.
bool Finder::wants_further(const SearchPlan& plan, const WantedSearch& wanted, SharedAnswer answer) {
  answer = for_reader(plan, wanted, std::move(answer));
  return wants_next_window(plan.prepared.domain, plan.prepared.request, *answer,
                           seen_positions(*answer, wanted.sites));
}

Result<SharedAnswer> Finder::search(const SearchPlan& plan, const WantedSearch& wanted,
                                    const PartialAnswer& on_partial) {
  TRY(auto answer, source_.window(plan, 1, on_partial));
  const PreparedSearch& prepared = plan.prepared;
  charge_further_lists(plan, *answer);
  while (wants_further(plan, wanted, answer)) {
    if (clock_.now() >= prepared.end) break;  // an engine without any time left would count as failed
    if (gate_.admit_search(plan.exchange, lists_asked(*answer), plan.prepared.request.has_raw())) break;
    auto deeper = source_.window(plan, answer->windows + 1);
    if (!deeper) break;
    answer = std::move(*deeper);
  }
  return learned_order(records_, prepared.snapshot, prepared.domain, plan.digest, std::move(answer));
}

bool Finder::may_be_repeated(const SearchPlan& plan) const {
  const Snapshot& snapshot = plan.prepared.snapshot;
  return is_answer_shared(plan.exchange) && !is_interleaving(records_, snapshot, plan.prepared.domain) &&
         !snapshot.config.learning.has_online_reranker;
}

SharedAnswer Finder::show_fused(const Exchange& exchange, SharedAnswer answer, std::size_t limit,
                                ShownResults& shown) {
  telemetry_.metrics.search(answer->domain, answer->fusion.method);
  const Snapshot& snapshot = *exchange.snapshot;
  const LoadedDomain& domain = *snapshot.find_domain(answer->domain);
  const double least = answer->cut ? answer->cut->least : 0.0;
  answer = learned_order(records_, snapshot, domain, sha256_hex(exchange.request.body), std::move(answer));
  answer = with_min_relevance(std::move(answer), least);
  shown = shown_results(*answer, 1, static_cast<int>(limit), {});
  store_shown(records_, exchange, domain, *answer, shown);
  return answer;
}

}  // namespace metafuse::service
