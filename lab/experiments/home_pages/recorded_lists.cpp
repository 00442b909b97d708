#include <functional>
#include <set>
#include <string_view>

#include "core/atomic_file.h"
#include "core/url.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments::home_pages {
namespace {

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
  const DemonstrationFile& templates = demonstration_files()[0];
  const DemonstrationFile& engines = demonstration_files()[1];
  auto out = std::make_unique<IndexedPages>();
  TRY(out->folder_, WorkFolder::make());
  const std::string documents = out->folder_->path("documents.jsonl");
  TRY_VOID(write_file(documents, to_documents(*pages)));
  fetchers::IndexOptions options;  // the same options as in scripts/demo
  options.kinds = {fetchers::WordKind::words, fetchers::WordKind::stems, fetchers::WordKind::parts};
  options.language = "en";
  options.has_cosine = true;
  TRY(out->indexed_,
      IndexedDocuments::make(
          documents, out->folder_->path("index.db"),
          {templates.text, engines.text, std::string(templates.name), std::string(engines.name)}, options));
  out->pages_ = std::move(*pages);
  return out;
}

Result<std::vector<RankedList>> IndexedPages::lists(const BaseQuery& query) const {
  TRY(auto lists, indexed_->lists(query));
  for (RankedList& list : lists) keep_best_of_each(list, domain().depth);
  return lists;
}

Result<fusion::TrainingSet> IndexedPages::record(const SampleOptions& sampling, unsigned threads) const {
  const std::vector<JudgedQuery> queries = sample_base_queries(pages_, sampling);
  TRY(const auto recorded,
      run_all(queries.size(), threads, {}, [&](std::size_t i) { return ask(*this, queries[i]); }));
  fusion::TrainingSetBuilder builder;
  for (const RecordedQuery& query : recorded) add_rows(builder, query, domain().depth);
  std::vector<fusion::Feature> features;
  for (const templates::SearchTemplate& search_template : domain().templates)
    for (const std::string& engine : search_template.engines)
      features.push_back({search_template.id + "@" + engine, fusion::FeatureKind::rank, domain().depth});
  fusion::FeedbackOptions feedback;
  feedback.query_weights = fusion::FeedbackOptions::QueryWeights::equal;  // a name has few documents
  return builder.finish(std::move(features), feedback);
}

}  // namespace metafuse::lab::experiments::home_pages
