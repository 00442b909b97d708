#include "service/search/search_pipeline.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/contract.h"
#include "fusion/features.h"
#include "fusion/fuse.h"
#include "service/search/list_keys.h"
#include "service/search/list_windows.h"
#include "templates/expander.h"

namespace metafuse::service {
namespace {

using fetchers::FetchedList;

constexpr std::size_t kMaxVariants = 16;
constexpr std::size_t kMaxExpandedQueries = 64;
constexpr double kRrfConstant = 60.0;
constexpr std::string_view kVariantSlot = "QUERY";

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The base query of a request: its slots, its plain text, or both together.
Result<BaseQuery> base_query_of(const LoadedDomain& domain, const SearchRequest& request) {
  if (!request.slots.slots.empty() && request.text.empty()) return request.slots;
  return templates::plain_base_query(domain.domain, request.text, request.slots);
}

const templates::SearchTemplate* find_template(const templates::Domain& domain, std::string_view id) {
  for (const templates::SearchTemplate& item : domain.templates)
    if (item.id == id) return &item;
  return nullptr;
}

/// A caller's variant, cleaned by each engine's syntax as a slot's value is.
Result<void> expand_variant(const Snapshot& snapshot, const LoadedDomain& domain, const QueryVariant& variant,
                            std::vector<ExpandedQuery>& out) {
  const templates::SearchTemplate* item = find_template(domain.domain, variant.template_id);
  if (item == nullptr)
    return fail(Code::usage, "no template \"" + variant.template_id + "\" in domain " + domain.domain.name +
                                 "; a variant names the template that it stands for");
  if (variant.is_raw) {
    for (const std::string& engine : item->engines) out.push_back({item->id, engine, variant.text});
    return {};
  }
  templates::Domain one;
  one.slots.push_back({std::string(kVariantSlot), true, ""});
  one.templates.push_back({item->id, item->engines, "{QUERY}"});
  auto expanded = templates::expand(one, BaseQuery{{{std::string(kVariantSlot), variant.text}}},
                                    snapshot.engines.syntax_of);
  if (!expanded) return expanded.error();
  out.insert(out.end(), expanded->begin(), expanded->end());
  return {};
}

void keep_engines(const std::vector<std::string>& engines, std::vector<ExpandedQuery>& queries) {
  if (engines.empty()) return;
  std::erase_if(queries, [&](const ExpandedQuery& query) {
    return std::find(engines.begin(), engines.end(), query.engine) == engines.end();
  });
}

/// The instances as the model's features see them: of several lists of one feature (the template's own and a
/// caller's variants) the best rank counts.
fusion::QueryInstances model_instances(const fusion::QueryInstances& all,
                                       const std::vector<FetchedList>& lists,
                                       const std::vector<fusion::Feature>& features) {
  std::map<std::string, std::size_t> column;
  std::size_t columns = 0;
  for (const fusion::Feature& feature : features)
    if (!fusion::is_derived(feature)) column[feature.name] = columns++;
  fusion::QueryInstances out;
  out.documents = all.documents;
  out.lists = columns;
  out.ranks.assign(all.documents.size() * columns, 0);
  for (std::size_t j = 0; j < lists.size(); ++j) {
    const auto at = column.find(lists[j].query.feature_name());
    if (at == column.end()) continue;
    for (std::size_t i = 0; i < all.documents.size(); ++i) {
      const std::uint32_t rank = all.ranks_of(i)[j];
      std::uint32_t& best = out.ranks[i * columns + at->second];
      if (rank > 0 && (best == 0 || rank < best)) best = rank;
    }
  }
  return out;
}

std::vector<double> rrf_scores(const fusion::QueryInstances& instances) {
  std::vector<double> scores(instances.documents.size(), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (const std::uint32_t rank : instances.ranks_of(i))
      if (rank > 0) scores[i] += 1.0 / (kRrfConstant + rank);
  return scores;
}

/// The hit that the best-ranked list delivered, with what it lacks from the others.
FusedResult result_of(std::size_t document, const fusion::QueryInstances& instances,
                      const std::vector<ListKeys>& keys, const std::vector<FetchedList>& lists) {
  FusedResult out;
  out.document = document;
  out.key = std::string(instances.documents[document]);
  const auto ranks = instances.ranks_of(document);
  for (std::size_t j = 0; j < ranks.size(); ++j)
    if (ranks[j] > 0) out.placements.push_back({j, static_cast<int>(ranks[j])});
  std::vector<Placement> by_rank = out.placements;
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [](const Placement& a, const Placement& b) { return a.rank < b.rank; });
  for (const Placement& place : by_rank) {
    const std::size_t at = keys[place.feature].hits[static_cast<std::size_t>(place.rank) - 1];
    const Hit& hit = lists[place.feature].list.hits[at];
    if (out.hit.url.empty()) out.hit.url = hit.url;
    if (out.hit.title.empty()) out.hit.title = hit.title;
    if (out.hit.snippet.empty()) out.hit.snippet = hit.snippet;
    if (out.hit.published.empty()) out.hit.published = hit.published;
    if (out.hit.thumbnail.empty()) out.hit.thumbnail = hit.thumbnail;
  }
  return out;
}

void set_relative_scores(std::vector<FusedResult>& results) {
  if (results.empty()) return;
  const auto by_score = [](const FusedResult& a, const FusedResult& b) { return a.score < b.score; };
  const auto [worst, best] = std::minmax_element(results.begin(), results.end(), by_score);
  const double low = worst->score;
  const double span = best->score - low;
  double above = 1.0;  // a later window's result never says more than those above it
  for (FusedResult& result : results)
    above = result.relative_score = std::min(above, span > 0 ? (result.score - low) / span : 1.0);
}

void collect_suggestions(SearchAnswer& answer) {
  for (const FetchedList& list : answer.lists)
    for (const std::string& text : list.list.suggestions)
      if (std::find(answer.suggestions.begin(), answer.suggestions.end(), text) == answer.suggestions.end())
        answer.suggestions.push_back(text);
}

void note_method(const LoadedDomain& domain, FusionNote& note) {
  if (domain.model) {
    note.method = domain.model->learner;
    note.model = domain.domain.name;
    note.version = domain.model_digest.substr(0, 12);
    return;
  }
  note.method = "rrf";
  note.notice = "domain " + domain.domain.name +
                " has no trained model; results are fused by reciprocal rank fusion (RRF)";
}

std::string query_text(const SearchRequest& request) {
  if (!request.text.empty()) return request.text;
  std::string out;
  for (const auto& [name, value] : request.slots.slots) out += (out.empty() ? "" : " ") + value;
  return out;
}

/// Gathers lists as they arrive, and hands on fused answers from half of them on.
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
    on_partial_(answer, arrived_, lists_.size());
  }

 private:
  const LoadedDomain& domain_;
  const SearchAnswer& base_;
  const PartialAnswer& on_partial_;
  std::vector<FetchedList> lists_;
  std::size_t arrived_ = 0;
};

/// A replay says nothing of its own times: its answers are the same bytes every time.
struct Moments {
  TimePoint begin, fetched, fused;
};
void note_times(const Snapshot& snapshot, const Moments& moments, SearchAnswer& answer) {
  if (snapshot.config.recordings.mode == RecordingsConfig::Mode::replay) return;
  answer.fetch_seconds = seconds_of(moments.fetched - moments.begin);
  answer.fuse_seconds = seconds_of(moments.fused - moments.fetched);
}

fetchers::FetchOptions fetch_options(const LoadedDomain& domain, const ServerConfig& config,
                                     const SearchRequest& request, const Clock& clock) {
  double seconds = config.deadline_seconds;
  if (request.deadline_seconds > 0) seconds = std::min(request.deadline_seconds, 120.0);
  fetchers::FetchOptions options{
      .depth = request.depth > 0 ? request.depth : domain.domain.depth,
      .deadline =
          Deadline(clock, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))),
      .page = request.windows,
      .language = request.language,
      .time_range = request.time_range,
      .safe_search = request.safe_search,
      .hops = request.hops};
  return options;
}

/// An engine may send more than it was asked for.
void cut_lists(int depth, std::vector<FetchedList>& lists) {
  for (FetchedList& list : lists)
    if (list.list.hits.size() > static_cast<std::size_t>(depth))
      list.list.hits.resize(static_cast<std::size_t>(depth));
}

}  // namespace

namespace {

std::string names_of_domains(const Snapshot& snapshot) {
  std::string names;
  for (const auto& [name, domain] : snapshot.domains) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

bool SearchAnswer::has_failures() const {
  return std::any_of(lists.begin(), lists.end(), [](const FetchedList& list) { return list.has_failed(); });
}

Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const SearchRequest& request) {
  const LoadedDomain* domain = snapshot.find_domain(request.domain);
  if (domain == nullptr)
    return fail(Code::usage, "no domain \"" + request.domain + "\"; there are " + names_of_domains(snapshot));
  if (request.variants.size() > kMaxVariants) return fail(Code::usage, "more than 16 query variants");
  std::vector<ExpandedQuery> queries;
  const bool has_query = !request.slots.slots.empty() || !request.text.empty();
  if (has_query || request.variants.empty()) {
    const auto base = base_query_of(*domain, request);
    if (!base) return base.error();
    auto expanded = templates::expand(domain->domain, *base, snapshot.engines.syntax_of);
    if (!expanded) return expanded.error();
    queries = std::move(*expanded);
  }
  for (const QueryVariant& variant : request.variants)
    if (auto done = expand_variant(snapshot, *domain, variant, queries); !done) return done.error();
  keep_engines(request.engines, queries);
  if (queries.empty())
    return fail(Code::usage, "none of the named engines stands in a template of the domain");
  if (queries.size() > kMaxExpandedQueries)
    return fail(Code::usage, "more than 64 expanded queries; give fewer variants or name fewer engines");
  return queries;
}

void fuse_lists(const LoadedDomain& domain, std::vector<FetchedList> lists, SearchAnswer& answer) {
  answer.lists = std::move(lists);
  answer.features.clear();
  auto state = std::make_shared<FusionState>();
  KeyMemory memory;
  std::vector<std::vector<std::string_view>> views;
  for (const FetchedList& list : answer.lists) {
    answer.features.push_back({list.query.feature_name(), fusion::FeatureKind::rank, domain.domain.depth});
    state->keys.push_back(list_keys(list.list, 0, memory));
  }
  for (const ListKeys& list : state->keys) views.emplace_back(list.keys.begin(), list.keys.end());
  const std::vector<fusion::RankedIds> ids(views.begin(), views.end());
  auto instances = fusion::collect_instances(ids, std::vector<int>(answer.lists.size(), 0));
  const auto windows = mask_later_windows(instances, domain.domain.depth);
  if (domain.model) {
    state->ranking =
        fusion::fuse(*domain.model, model_instances(instances, answer.lists, domain.model->features));
  } else {
    state->ranking.scores = rrf_scores(instances);
    state->ranking.order = fusion::order_instances(instances, state->ranking.scores);
    state->ranking.instances = instances;
  }
  order_by_window(windows, state->ranking.order);
  answer.results.clear();
  for (const std::uint32_t document : state->ranking.order) {
    answer.results.push_back(result_of(document, instances, state->keys, answer.lists));
    answer.results.back().score = state->ranking.scores[document];
  }
  answer.state = std::move(state);
  set_relative_scores(answer.results);
  collect_suggestions(answer);
  note_method(domain, answer.fusion);
}

std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result) {
  if (!domain.model) {
    std::vector<double> out(answer.features.size(), 0.0);
    for (const Placement& place : result.placements) out[place.feature] = 1.0 / (kRrfConstant + place.rank);
    return out;
  }
  std::vector<double> out;
  for (const auto& share : fusion::explain(*domain.model, answer.state->ranking, result.document).features)
    out.push_back(share.weight);
  return out;
}

Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial) {
  auto queries = expand_request(snapshot, request);
  if (!queries) return queries.error();
  const LoadedDomain& domain = *snapshot.find_domain(request.domain);
  SearchAnswer answer;
  answer.domain = domain.domain.name;
  answer.query = query_text(request);
  answer.slots = request.slots;
  const TimePoint begin = clock.now();
  const auto options = fetch_options(domain, snapshot.config, request, clock);
  std::function<void(const FetchedList&)> on_list;
  Partials partials(domain, answer, *queries, on_partial);
  if (on_partial) on_list = [&](const FetchedList& list) { partials.take(list); };
  auto lists = snapshot.engines.fetcher->fetch(*queries, options, on_list);
  cut_lists(options.depth, lists);
  const TimePoint fetched = clock.now();
  fuse_lists(domain, std::move(lists), answer);
  note_times(snapshot, {begin, fetched, clock.now()}, answer);
  return answer;
}

Result<SearchAnswer> search_further(const Snapshot& snapshot, const SearchRequest& request,
                                    const Clock& clock, const SearchAnswer& so_far) {
  require(request.windows == so_far.windows + 1, "windows are asked for one by one");
  auto queries = expand_request(snapshot, request);
  if (!queries) return queries.error();
  const LoadedDomain& domain = *snapshot.find_domain(request.domain);
  SearchAnswer answer = so_far;
  answer.windows = request.windows;
  const TimePoint begin = clock.now();
  const auto options = fetch_options(domain, snapshot.config, request, clock);
  auto lists = snapshot.engines.fetcher->fetch(*queries, options, {});
  cut_lists(options.depth, lists);
  const TimePoint fetched = clock.now();
  fuse_lists(domain, joined_lists(so_far.lists, std::move(lists)), answer);
  note_times(snapshot, {begin, fetched, clock.now()}, answer);
  return answer;
}

}  // namespace metafuse::service
