#include "service/search/second_stage.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "service/search/like_top.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

using fetchers::FetchedList;
using templates::RerankList;

bool is_wanted_list(const RerankList& list, const SearchRequest& request) {
  return request.wants(list.engine, list.feature_name());
}

std::size_t count_of_first(const SearchAnswer& answer, int top) {
  return std::min(answer.results.size(), static_cast<std::size_t>(top));
}

FetchedList list_like_top(const RerankList& list, const SearchAnswer& answer) {
  const auto first = std::span(answer.results).first(count_of_first(answer, list.top));
  const auto likeness = likeness_to_top(first);
  std::vector<std::size_t> order(first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return likeness[a] > likeness[b]; });
  FetchedList out;
  out.query = {list.id, "", answer.query};
  for (const std::size_t at : order) {
    if (likeness[at] <= 0) break;
    out.list.hits.push_back(first[at].hit);
  }
  return out;
}

fetchers::FetchOptions rerank_options(const PreparedSearch& search, const Clock& clock,
                                      const SearchAnswer& answer, int top) {
  auto documents = std::make_shared<std::vector<Hit>>();
  for (const FusedResult& result : std::span(answer.results).first(count_of_first(answer, top)))
    documents->push_back(result.hit);
  return {.depth = top,
          .deadline = Deadline(clock, search.end - clock.now()),
          .language = search.request.language,
          .sender = search.sender,
          .hops = search.request.hops,
          .forwarded = search.request.forwarded,
          .documents = std::move(documents)};
}

/// The lists of rerankers that order equally many results, asked at the same time.
std::vector<FetchedList> lists_of_rerankers(const PreparedSearch& search, const Clock& clock,
                                            const SearchAnswer& answer,
                                            const std::vector<const RerankList*>& rerankers) {
  std::vector<ExpandedQuery> queries;
  for (const RerankList* one : rerankers) queries.push_back({one->id, one->engine, answer.query});
  return search.snapshot.engines.fetcher->fetch(
      queries, rerank_options(search, clock, answer, rerankers.front()->top), {});
}

/// The rerankers that a request asks, in groups that order equally many results.
std::vector<std::vector<const RerankList*>> groups_of(const PreparedSearch& search) {
  std::vector<std::vector<const RerankList*>> groups;
  for (const RerankList& list : search.domain.domain.rerank) {
    if (list.engine.empty() || !is_wanted_list(list, search.request)) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& one) { return one.front()->top == list.top; });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(&list);
  }
  return groups;
}

}  // namespace

std::size_t rerankers_asked(const templates::Domain& domain, const SearchRequest& request) {
  return static_cast<std::size_t>(std::count_if(
      domain.rerank.begin(), domain.rerank.end(),
      [&](const RerankList& list) { return !list.engine.empty() && is_wanted_list(list, request); }));
}

void add_second_stage(const PreparedSearch& search, const Clock& clock, SearchAnswer& answer) {
  const auto& domain = search.domain.domain;
  if (domain.rerank.empty() || answer.results.empty()) return;
  std::vector<FetchedList> added;
  for (const RerankList& list : domain.rerank)
    if (list.engine.empty() && is_wanted_list(list, search.request))
      added.push_back(list_like_top(list, answer));
  for (const auto& group : groups_of(search))
    for (FetchedList& list : lists_of_rerankers(search, clock, answer, group))
      added.push_back(std::move(list));
  if (added.empty()) return;
  std::vector<FetchedList> lists = std::move(answer.lists);
  std::move(added.begin(), added.end(), std::back_inserter(lists));
  fuse_lists(search.domain, std::move(lists), answer);
}

}  // namespace metafuse::service
