#include "service/search/search_pipeline.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/languages.h"
#include "core/text.h"
#include "fetchers/calling/fetcher.h"
#include "service/base/dates.h"
#include "service/search/alike_results.h"
#include "service/search/list_fusion.h"
#include "service/search/list_selection.h"
#include "service/search/second_stage.h"
#include "service/search/typed_conditions.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxVariants = 16;
constexpr std::string_view kVariantSlot = "QUERY";

/// The base query of a request: from its slots, its plain text, or both together.
Result<templates::TypedBaseQuery> base_query_of(const LoadedDomain& domain, const SearchRequest& request) {
  if (!request.slots.slots.empty() && request.text.empty())
    return templates::TypedBaseQuery{request.slots, {}};
  return templates::plain_base_query(domain.domain, request.text, request.slots);
}

const templates::SearchTemplate* find_template(const templates::Domain& domain, std::string_view id) {
  for (const templates::SearchTemplate& item : domain.templates)
    if (item.id == id) return &item;
  return nullptr;
}

/// Expands a caller's variant for each engine of its template: the text passes the engine's syntax filter
/// like a slot's value (unless it is raw), and the typed query's conditions are added.
Result<void> expand_variant(const Snapshot& snapshot, const LoadedDomain& domain, const QueryVariant& variant,
                            const templates::TypedQuery& typed, std::vector<ExpandedQuery>& out) {
  const templates::SearchTemplate* item = find_template(domain.domain, variant.template_id);
  if (item == nullptr)
    return fail(Code::usage, "no template \"" + variant.template_id + "\" in domain " + domain.domain.name +
                                 "; a variant must name the template that it replaces");
  if (variant.is_raw) {
    for (const std::string& engine : item->engines) out.push_back({item->id, engine, variant.text});
    return {};
  }
  templates::Domain one;
  one.slots.push_back({std::string(kVariantSlot), true, ""});
  one.templates.push_back({item->id, item->engines, "{QUERY}"});
  const templates::TypedBaseQuery asked{{{{std::string(kVariantSlot), variant.text}}}, {}, typed};
  TRY(auto expanded, templates::expand_asked(one, asked, snapshot.engines.syntax_of));
  out.insert(out.end(), expanded.begin(), expanded.end());
  return {};
}

/// What the templates make of the request's slots with another plain query.
Result<std::vector<ExpandedQuery>> expand_wording(const Snapshot& snapshot, const LoadedDomain& domain,
                                                  const SearchRequest& request, const std::string& text) {
  BaseQuery beside = request.slots;
  beside.slots.erase(std::string(plain_slot(domain.domain)));
  TRY(const auto base, templates::plain_base_query(domain.domain, text, std::move(beside)));
  return templates::expand_asked(domain.domain, base, snapshot.engines.syntax_of);
}

/// Adds the expanded queries of another wording. Their lists count for the same features, at the better rank.
void add_new(std::vector<ExpandedQuery> expanded, std::vector<ExpandedQuery>& out) {
  std::set<std::pair<std::string, std::string>> known;
  for (const ExpandedQuery& query : out) known.emplace(query.feature_name(), query.text);
  for (ExpandedQuery& query : expanded)
    if (known.emplace(query.feature_name(), query.text).second) out.push_back(std::move(query));
}

void keep_named(const SearchRequest& request, std::vector<ExpandedQuery>& queries) {
  std::erase_if(queries, [&](const ExpandedQuery& query) {
    return !request.wants(query.engine, query.feature_name());
  });
}

}  // namespace

Result<const LoadedDomain*> named_domain(const Snapshot& snapshot, std::string_view name,
                                         const KeyConfig* key) {
  if (const LoadedDomain* found = snapshot.find_domain_for(key, name); found != nullptr) return found;
  std::vector<std::string> names;
  for (const LoadedDomain* domain : snapshot.domains_for(key)) names.push_back(domain->domain.name);
  return fail(Code::usage,
              "no domain \"" + std::string(name) + "\"" + did_you_mean(std::string(name), names));
}

Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const LoadedDomain& domain,
                                                  const SearchRequest& request,
                                                  const templates::ExpansionLimits& limits) {
  if (request.variants.size() > kMaxVariants) return fail(Code::usage, "more than 16 query variants");
  const bool is_usual = request.language.empty() || request.language == snapshot.engines.language;
  if (!is_usual && !names_language(request.language))
    return fail(Code::usage, "the language is no language tag; write one such as de or pt-BR");
  std::vector<ExpandedQuery> queries;
  templates::TypedQuery asked;
  const bool has_query = !request.slots.slots.empty() || !request.text.empty();
  if (has_query || request.variants.empty()) {
    TRY(const auto base, base_query_of(domain, request));
    TRY(auto expanded, templates::expand_asked(domain.domain, base, snapshot.engines.syntax_of, limits));
    asked = base.typed;
    queries = std::move(expanded);
  }
  for (const QueryVariant& variant : request.variants)
    TRY_VOID(expand_variant(snapshot, domain, variant, asked, queries));
  keep_named(request, queries);
  if (queries.empty() && domain.domain.templates.empty())
    return fail(Code::usage, "the domain " + domain.domain.name +
                                 " has no search templates: callers bring its lists, to POST /v1/fuse");
  if (queries.empty())
    return fail(Code::usage, "no template of the domain uses any of the named engines or lists");
  if (queries.size() > kMaxExpandedQueries && !is_selective(domain, request))
    return fail(Code::usage, "more than 64 expanded queries; give fewer variants, or name fewer engines");
  for (const auto* texts : {&request.alternatives, &request.synonyms})
    for (const std::string& text : *texts) {
      TRY(auto expanded, expand_wording(snapshot, domain, request, text));
      keep_named(request, expanded);
      if (queries.size() + expanded.size() > kMaxExpandedQueries) break;
      add_new(std::move(expanded), queries);
    }
  return queries;
}

std::string query_text(const std::string& text, const BaseQuery& slots) {
  std::string out = text;
  if (!text.empty()) return out;
  for (const auto& [name, value] : slots.slots) out += (out.empty() ? "" : " ") + value;
  return out;
}

namespace {

using fetchers::FetchedList;

/// Collects lists as they arrive, and passes on fused answers once half of them have arrived.
class Partials {
 public:
  Partials(const LoadedDomain& domain, const SearchAnswer& base, const std::vector<ExpandedQuery>& queries,
           const PartialAnswer& on_partial)
      : domain_(domain), base_(base), on_partial_(on_partial) {
    for (const ExpandedQuery& query : queries) lists_.push_back({query, {}, fetchers::Failure::none, "", {}});
  }

  void take(const FetchedList& list) {
    for (FetchedList& slot : lists_) {
      if (slot.query != list.query) continue;
      slot = list;
      break;
    }
    ++arrived_;
    if (2 * arrived_ < lists_.size() || arrived_ >= lists_.size()) return;
    SearchAnswer answer = base_;
    fuse_lists(domain_, lists_, answer);
    fold_results(domain_, answer);
    on_partial_(answer, arrived_, lists_.size());
  }

 private:
  const LoadedDomain& domain_;
  const SearchAnswer& base_;
  const PartialAnswer& on_partial_;
  std::vector<FetchedList> lists_;
  std::size_t arrived_ = 0;
};

Duration deadline_of(const ServerConfig& config, const SearchRequest& request) {
  double seconds = config.deadline_seconds;
  if (request.deadline_seconds > 0) seconds = std::min(request.deadline_seconds, 120.0);
  return duration_of(seconds);
}

fetchers::FetchOptions fetch_options(const PreparedSearch& search, int window, const Clock& clock) {
  const SearchRequest& request = search.request;
  return {.depth = request.depth > 0 ? request.depth : search.domain.domain.depth,
          .deadline = Deadline(clock, search.end - clock.now()),
          .page = window,
          .language = request.language,
          .time_range = request.time_range,
          .safe_search = request.safe_search,
          .sender = search.sender,
          .hops = request.hops,
          .forwarded = request.forwarded};
}

/// The lists from the engines, and when they were fetched.
struct Fetched {
  std::vector<FetchedList> lists;
  TimePoint begin, end;
};

/// Fetches one window of every list.
Fetched fetch_lists(const PreparedSearch& search, const std::vector<ExpandedQuery>& queries, int window,
                    const Clock& clock, const std::function<void(const FetchedList&)>& on_list) {
  const auto options = fetch_options(search, window, clock);
  Fetched out;
  out.begin = clock.now();
  out.lists = search.snapshot.engines.fetcher->fetch(queries, options, on_list);
  out.end = clock.now();
  return out;
}

/// Sets the answer's times, except in a replay, whose answers must be the same bytes every time.
void note_times(const Snapshot& snapshot, const Fetched& fetched, TimePoint fused, SearchAnswer& answer) {
  if (snapshot.config.recordings.mode == RecordingsConfig::Mode::replay) return;
  answer.fetch_seconds = std::chrono::duration<double>(fetched.end - fetched.begin).count();
  answer.fuse_seconds = std::chrono::duration<double>(fused - fetched.end).count();
}

void note_not_asked(const std::vector<ExpandedQuery>& queries, WhyNotAsked why, SearchAnswer& answer) {
  for (const ExpandedQuery& query : queries)
    answer.not_asked.push_back({query.feature_name(), query.engine, why});
}

/// Asks for the lists that were put off, round by round until the top is settled.
///
/// in:     answer - fused of the first lists
void ask_later(const PreparedSearch& search, const Clock& clock, const PartialAnswer& on_partial,
               Fetched& fetched, SearchAnswer& answer) {
  note_not_asked(search.never, WhyNotAsked::limit, answer);
  std::size_t wanted = search.queries.size();
  for (const auto& round : search.rounds) wanted += round.size();
  for (std::size_t i = 0; i < search.rounds.size(); ++i) {
    const bool is_done = is_settled(search.domain, answer, i);
    if (is_done || clock.now() >= search.end) {  // an engine without any time left would count as failed
      for (std::size_t left = i; left < search.rounds.size(); ++left)
        note_not_asked(search.rounds[left], is_done ? WhyNotAsked::settled : WhyNotAsked::deadline, answer);
      return;
    }
    if (on_partial) {
      SearchAnswer so_far = answer;
      fold_results(search.domain, so_far);
      on_partial(so_far, answer.lists.size(), wanted);
    }
    Fetched more = fetch_lists(search, search.rounds[i], 1, clock, {});
    std::vector<FetchedList> lists = std::move(answer.lists);
    std::move(more.lists.begin(), more.lists.end(), std::back_inserter(lists));
    fuse_lists(search.domain, std::move(lists), answer);
    fetched.end = more.end;
  }
}

/// What was sent for the lists of an answer, without those of rerankers.
std::vector<ExpandedQuery> queries_of(const SearchAnswer& answer) {
  std::vector<ExpandedQuery> out;
  for (std::size_t i = 0; i + answer.second_stage < answer.lists.size(); ++i)
    out.push_back(answer.lists[i].query);
  return out;
}

}  // namespace

Result<PreparedSearch> prepare_search(const Snapshot& snapshot, const LoadedDomain& domain,
                                      SearchRequest request, const Clock& clock) {
  TRY(auto queries, expand_request(snapshot, domain, request));
  const TimePoint end = clock.now() + deadline_of(snapshot.config, request);
  ListSelection lists;
  if (is_selective(domain, request))
    lists = select_lists(domain, request, queries);
  else
    lists.first = std::move(queries);
  return PreparedSearch{snapshot, domain, std::move(request),      std::move(lists.first),
                        end,      {},     std::move(lists.rounds), std::move(lists.never)};
}

Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial) {
  TRY(const LoadedDomain* const domain, named_domain(snapshot, request.domain));
  TRY(const auto prepared, prepare_search(snapshot, *domain, request, clock));
  return search_prepared(prepared, clock, on_partial);
}

SearchAnswer search_prepared(const PreparedSearch& search, const Clock& clock,
                             const PartialAnswer& on_partial) {
  SearchAnswer answer;
  answer.domain = search.domain.domain.name;
  answer.query = query_text(search.request.text, search.request.slots);
  answer.slots = search.request.slots;
  set_typed(search.request, answer);
  Partials partials(search.domain, answer, search.queries, on_partial);
  std::function<void(const FetchedList&)> on_list;
  if (on_partial) on_list = [&](const FetchedList& list) { partials.take(list); };
  Fetched fetched = fetch_lists(search, search.queries, 1, clock, on_list);
  fuse_lists(search.domain, std::move(fetched.lists), answer);
  ask_later(search, clock, on_partial, fetched, answer);
  const TimePoint fused = clock.now();
  add_second_stage(search, clock, answer);
  fold_results(search.domain, answer);
  fetched.end += clock.now() - fused;  // waiting for rerankers is waiting for engines
  note_times(search.snapshot, fetched, clock.now(), answer);
  return answer;
}

SearchAnswer search_further(const PreparedSearch& search, const Clock& clock, const SearchAnswer& so_far) {
  SearchAnswer answer = so_far;
  ++answer.windows;
  Fetched fetched = fetch_lists(search, queries_of(so_far), answer.windows, clock, {});
  // rerankers order only the first window
  std::vector<FetchedList> lists = so_far.lists;
  const auto reranked = lists.end() - static_cast<std::ptrdiff_t>(so_far.second_stage);
  std::vector<FetchedList> second(reranked, lists.end());
  for (FetchedList& list : second) list.requests = 0;
  lists.erase(reranked, lists.end());
  lists = joined_lists(lists, std::move(fetched.lists));
  lists.insert(lists.end(), second.begin(), second.end());
  fuse_lists(search.domain, std::move(lists), answer);
  fold_results(search.domain, answer);
  note_times(search.snapshot, fetched, clock.now(), answer);
  return answer;
}

}  // namespace metafuse::service
