#include <chrono>
#include <functional>
#include <set>
#include <string_view>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "core/url.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/definition/engine_file.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/trials.h"
#include "templates/expander.h"
#include "templates/template_file.h"

namespace metafuse::lab::experiments::home_pages {
namespace {

constexpr auto kSearchTime = std::chrono::minutes(10);  // a slow machine must not fail an experiment

/// The results of the search templates for one base query.
struct RecordedQuery {
  std::string id;
  std::set<std::string, std::less<>> answers;  ///< canonical keys
  std::vector<RankedList> lists;
};

Result<RecordedQuery> ask(const IndexedPages& pages, const JudgedQuery& query) {
  auto lists = pages.lists(query.base_query);
  if (!lists) return fail(lists.error().code, query.id + ", " + lists.error().text);
  RecordedQuery out{query.id, {}, std::move(*lists)};
  for (const std::string& url : query.answers) {
    TRY(auto key, canonical_url_key(url));
    out.answers.insert(std::move(key));
  }
  return out;
}

/// Adds the instances of one base query as rows; rank k in a list becomes the value -k.
void add_rows(fusion::TrainingSetBuilder& builder, const RecordedQuery& query, int depth) {
  const auto keys = keys_of(query.lists);
  const std::vector<fusion::RankedIds> lists(keys.begin(), keys.end());
  const std::vector<int> depths(lists.size(), depth);
  const fusion::QueryInstances instances = fusion::collect_instances(lists, depths);
  std::vector<fusion::Cell> cells;
  for (std::size_t document = 0; document < instances.documents.size(); ++document) {
    fusion::set_rank_cells(instances.ranks_of(document), cells);
    fusion::InstanceRow row;
    row.query = query.id;
    row.document = instances.documents[document];
    row.grade = query.answers.contains(row.document) ? 1.0 : 0.0;
    row.cells = cells;
    builder.add(row);
  }
}

}  // namespace

std::vector<std::vector<std::string_view>> keys_of(const std::vector<RankedList>& lists) {
  std::vector<std::vector<std::string_view>> keys;
  for (const RankedList& list : lists) {
    auto& of_list = keys.emplace_back();
    for (const Hit& hit : list.hits) of_list.emplace_back(hit.key);
  }
  return keys;
}

Result<std::unique_ptr<IndexedPages>> IndexedPages::open(const std::string& data) {
  auto pages = read_package_index(data + "/packages.txt");
  if (!pages)
    return fail(pages.error().code, pages.error().text + "; make it with apt-cache dumpavail > packages.txt");
  const DemonstrationFile& template_file = demonstration_files()[0];
  const DemonstrationFile& engine_file = demonstration_files()[1];
  TRY(auto file, templates::parse_domain_file(template_file.text, template_file.name));
  auto indexed = std::make_unique<IndexedPages>();
  TRY(indexed->folder_, WorkFolder::make());
  const std::string documents = indexed->folder_->path("documents.jsonl");
  const std::string database = indexed->database();
  TRY_VOID(write_file(documents, to_documents(*pages)));
  fetchers::IndexOptions options;  // the same options as in scripts/demo
  options.kinds = {fetchers::WordKind::words, fetchers::WordKind::stems, fetchers::WordKind::parts};
  options.language = "en";
  options.has_cosine = true;
  TRY_VOID(fetchers::build_local_index(database, {documents}, options));
  indexed->pages_ = std::move(*pages);
  indexed->domain_ = std::move(file.domain);
  TRY(auto engines, fetchers::parse_engine_file(engine_file.text, std::string(engine_file.name)));
  for (fetchers::Engine& engine : engines.engines) {
    if (auto* local = std::get_if<fetchers::LocalAccess>(&engine.access)) local->database = database;
    if (auto* cosine = std::get_if<fetchers::CosineAccess>(&engine.access)) cosine->database = database;
    engine.timeout_seconds = std::chrono::duration<double>(kSearchTime).count();
    indexed->engines_[engine.name] = std::make_unique<fetchers::EmbeddedEngine>(engine);
  }
  return indexed;
}

Result<std::vector<RankedList>> IndexedPages::lists(const BaseQuery& query) const {
  const SteadyClock clock;
  const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  TRY(const auto expanded, templates::expand(domain_, query, syntax_of));
  std::vector<RankedList> lists;
  for (const ExpandedQuery& one : expanded) {
    const auto engine = engines_.find(one.engine);
    if (engine == engines_.end())
      return fail(Code::bad_config, one.engine + ": no such engine in the demonstration");
    auto list = engine->second->search(one.text, {}, domain_.depth, 0, Deadline(clock, kSearchTime));
    if (!list) return fail(list.error().code, one.template_id + ": " + list.error().text);
    keep_best_of_each(*list, domain_.depth);
    lists.push_back(std::move(*list));
  }
  return lists;
}

Result<fusion::TrainingSet> IndexedPages::record(const SampleOptions& sampling, unsigned threads) const {
  const std::vector<JudgedQuery> queries = sample_base_queries(pages_, sampling);
  TRY(const auto recorded,
      run_all(queries.size(), threads, {}, [&](std::size_t i) { return ask(*this, queries[i]); }));
  fusion::TrainingSetBuilder builder;
  for (const RecordedQuery& query : recorded) add_rows(builder, query, domain_.depth);
  std::vector<fusion::Feature> features;
  for (const templates::SearchTemplate& search_template : domain_.templates)
    for (const std::string& engine : search_template.engines)
      features.push_back({search_template.id + "@" + engine, fusion::FeatureKind::rank, domain_.depth});
  fusion::FeedbackOptions feedback;
  feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;  // a name has few documents
  return builder.finish(std::move(features), feedback);
}

}  // namespace metafuse::lab::experiments::home_pages
