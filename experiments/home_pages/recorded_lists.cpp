#include "experiments/home_pages/recorded_lists.h"

#include <chrono>
#include <optional>
#include <string_view>

#include "core/deadline.h"
#include "core/parallel.h"
#include "core/url.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "templates/expander.h"

namespace metafuse::experiments::home_pages {
namespace {

constexpr auto kSearchTime = std::chrono::seconds(10);

Result<std::vector<std::string>> keys_of(const RankedList& list) {
  std::vector<std::string> keys;
  keys.reserve(list.hits.size());
  for (const Hit& hit : list.hits) {
    TRY(auto key, canonical_url_key(hit.url));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<RecordedQuery> record(const templates::Domain& domain, fetchers::LocalEngine& engine,
                             const JudgedQuery& query, const Clock& clock) {
  const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  TRY(auto expanded, templates::expand(domain, query.base_query, syntax_of));
  TRY(auto answer, canonical_url_key(query.answer));
  RecordedQuery recorded{query.id, answer, {}};
  for (const ExpandedQuery& one : expanded) {
    auto list = engine.search(one.text, domain.depth, 0, Deadline(clock, kSearchTime));
    if (!list) return fail(list.error().code, query.id + ", " + one.template_id + ": " + list.error().text);
    TRY(auto keys, keys_of(*list));
    recorded.lists.push_back(std::move(keys));
  }
  return recorded;
}

/// The instances of one base query as rows: rank k of a list is the value -k.
void add_rows(fusion::TrainingSetBuilder& builder, const RecordedQuery& query, int depth) {
  std::vector<std::vector<std::string_view>> views;
  for (const auto& list : query.lists) views.emplace_back(list.begin(), list.end());
  const std::vector<fusion::RankedIds> lists(views.begin(), views.end());
  const std::vector<int> depths(lists.size(), depth);
  const fusion::QueryInstances instances = fusion::collect_instances(lists, depths);
  for (std::size_t document = 0; document < instances.documents.size(); ++document) {
    std::vector<fusion::Cell> cells;
    const auto ranks = instances.ranks_of(document);
    for (std::size_t list = 0; list < ranks.size(); ++list)
      if (ranks[list] > 0)
        cells.push_back({static_cast<std::uint32_t>(list), -static_cast<double>(ranks[list])});
    fusion::InstanceRow row;
    row.query = query.id;
    row.document = instances.documents[document];
    row.grade = row.document == query.answer ? 1.0 : 0.0;
    row.cells = cells;
    builder.add(row);
  }
}

}  // namespace

Result<std::vector<RecordedQuery>> record_lists(const templates::Domain& domain,
                                                fetchers::LocalEngine& engine,
                                                std::span<const JudgedQuery> queries, unsigned threads) {
  const SteadyClock clock;
  std::vector<std::optional<Result<RecordedQuery>>> slots(queries.size());
  parallel_for(queries.size(), threads,
               [&](std::size_t i) { slots[i] = record(domain, engine, queries[i], clock); });
  std::vector<RecordedQuery> recorded;
  recorded.reserve(queries.size());
  for (auto& slot : slots) {
    if (!*slot) return slot->error();
    recorded.push_back(std::move(**slot));
  }
  return recorded;
}

Result<fusion::TrainingSet> to_training_set(const templates::Domain& domain,
                                            std::span<const RecordedQuery> queries) {
  fusion::TrainingSetBuilder builder;
  for (const RecordedQuery& query : queries) add_rows(builder, query, domain.depth);
  std::vector<fusion::Feature> features;
  for (const templates::SearchTemplate& search_template : domain.templates)
    for (const std::string& engine : search_template.engines)
      features.push_back({search_template.id + "@" + engine, fusion::FeatureKind::rank, domain.depth});
  return builder.finish(std::move(features), {});
}

}  // namespace metafuse::experiments::home_pages
