#include "service/search/list_fusion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/contract.h"
#include "fusion/data/features.h"
#include "fusion/model/fuse.h"
#include "fusion/training/auto_learner.h"
#include "fusion/training/learned_from.h"
#include "service/search/search_answer.h"
#include "service/search/typed_conditions.h"

namespace metafuse::service {

FeatureColumns feature_columns(const std::vector<std::string_view>& list_names,
                               const std::vector<fusion::Feature>& features) {
  FeatureColumns out;
  std::map<std::string_view, std::size_t> column;
  for (const fusion::Feature& feature : features)
    if (!fusion::is_derived(feature)) column[feature.name] = out.count++;
  for (const std::string_view name : list_names) {
    const auto at = column.find(name);
    out.of_list.push_back(at == column.end() ? FeatureColumns::kNone : at->second);
  }
  return out;
}

fusion::QueryInstances instances_by_feature(const fusion::QueryInstances& by_list,
                                            const FeatureColumns& columns) {
  fusion::QueryInstances out;
  out.documents = by_list.documents;
  out.lists = columns.count;
  out.ranks.assign(by_list.documents.size() * columns.count, 0);
  for (std::size_t i = 0; i < by_list.documents.size(); ++i) {
    const auto ranks = by_list.ranks_of(i);
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      if (columns.of_list[j] == FeatureColumns::kNone || ranks[j] == 0) continue;
      std::uint32_t& best = out.ranks[i * columns.count + columns.of_list[j]];
      if (best == 0 || ranks[j] < best) best = ranks[j];
    }
  }
  return out;
}

WindowRanks::WindowRanks(const fetchers::FetchedList& list, int depth)
    : hits_(list.list.hits.size()), depth_(static_cast<std::size_t>(depth)), in_window_(list.in_window) {
  require(depth > 0, "lists have a depth");
  std::size_t counted = 0;
  for (const std::size_t hits : in_window_) counted += hits;
  require(in_window_.empty() || counted == hits_, "every hit came with some window");
}

std::size_t WindowRanks::hits_in(std::size_t window) const {
  if (!in_window_.empty()) return window < in_window_.size() ? in_window_[window] : 0;
  const std::size_t before = window * depth_;
  return hits_ > before ? hits_ - before : 0;
}

std::size_t WindowRanks::position_of(std::size_t rank) const {
  if (in_window_.empty()) return rank - 1;
  std::size_t position = (rank - 1) % depth_;
  for (std::size_t window = 0; window < (rank - 1) / depth_; ++window) position += in_window_[window];
  return position;
}

std::vector<std::uint32_t> WindowRanks::of_hits() const {
  std::vector<std::uint32_t> ranks;
  bool has_gap = false;
  for (std::size_t window = 0; window < in_window_.size(); ++window)
    for (std::size_t place = 0; place < in_window_[window]; ++place) {
      ranks.push_back(static_cast<std::uint32_t>(window * depth_ + place + 1));
      has_gap = has_gap || ranks.back() != ranks.size();
    }
  return has_gap ? ranks : std::vector<std::uint32_t>();
}

void set_ranks(std::span<const std::uint32_t> ranks, std::size_t list, fusion::QueryInstances& instances) {
  if (ranks.empty()) return;
  for (std::size_t at = list; at < instances.ranks.size(); at += instances.lists)
    if (instances.ranks[at] > 0) instances.ranks[at] = ranks[instances.ranks[at] - 1];
}

bool may_hold_more(const SearchAnswer& answer, int depth) {
  if (answer.windows >= kMostWindows) return false;
  if (answer.cut && answer.cut->left_out > 0) return false;  // further down, results are not more relevant
  const auto last = static_cast<std::size_t>(answer.windows - 1);
  const auto full = static_cast<std::size_t>(depth);
  const auto searched = answer.lists.end() - static_cast<std::ptrdiff_t>(answer.second_stage);
  return std::any_of(answer.lists.begin(), searched, [&](const fetchers::FetchedList& list) {
    return !list.has_failed() && 2 * WindowRanks(list, depth).hits_in(last) >= full;
  });
}

std::vector<fetchers::FetchedList> joined_lists(const std::vector<fetchers::FetchedList>& so_far,
                                                std::vector<fetchers::FetchedList> next) {
  require(so_far.size() == next.size(), "windows of one search have the same lists");
  std::vector<fetchers::FetchedList> out = so_far;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].requests = next[i].requests;
    // without all of its earlier windows, a list's ranks are not known
    if (out[i].has_failed() || out[i].lacks_pages) continue;
    out[i].failure = next[i].failure;
    out[i].message = std::move(next[i].message);
    out[i].lacks_pages = next[i].lacks_pages;
    out[i].elapsed = next[i].elapsed;
    auto& hits = next[i].list.hits;
    const std::size_t before = out[i].list.hits.size();
    if (out[i].in_window.empty()) out[i].in_window.push_back(before);
    out[i].list.hits.insert(out[i].list.hits.end(), std::make_move_iterator(hits.begin()),
                            std::make_move_iterator(hits.end()));
    // windows may overlap; their hits have keys and clean URLs already
    keep_best_of_each(out[i].list, 0, TrackingParameters());
    out[i].in_window.push_back(out[i].list.hits.size() - before);
  }
  return out;
}

std::vector<std::uint32_t> mask_later_windows(fusion::QueryInstances& instances, int depth) {
  require(depth > 0, "lists have a depth");
  const auto size = static_cast<std::uint32_t>(depth);
  std::vector<std::uint32_t> windows(instances.documents.size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::uint32_t* ranks = instances.ranks.data() + i * instances.lists;
    std::uint32_t best = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t j = 0; j < instances.lists; ++j)
      if (ranks[j] > 0) best = std::min(best, ranks[j]);
    windows[i] = (best - 1) / size;
    const std::uint64_t last = (std::uint64_t{windows[i]} + 1) * size;
    for (std::size_t j = 0; j < instances.lists; ++j)
      if (ranks[j] > last) ranks[j] = 0;
  }
  return windows;
}

void order_by_window(const std::vector<std::uint32_t>& windows, std::vector<std::uint32_t>& order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return windows[a] < windows[b]; });
}

namespace {

using fetchers::FetchedList;

std::vector<double> rrf_scores(const fusion::QueryInstances& instances, double k) {
  std::vector<double> scores(instances.documents.size(), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = fusion::reciprocal_rank_score(instances.ranks_of(i), k);
  return scores;
}

/// What orders the results.
struct Ranker {
  const fusion::Model* model;  ///< nullptr for RRF
  double rrf_k;
};

Ranker ranker_of(const LoadedDomain& domain) {
  return {domain.model ? &*domain.model : nullptr, domain.domain.rrf_k};
}

/// in: lists - the feature of each list
fusion::FusedRanking ranking_of(const Ranker& ranker, const fusion::QueryInstances& instances,
                                const std::vector<fusion::Feature>& lists) {
  if (ranker.model != nullptr) {
    std::vector<std::string_view> names;
    for (const fusion::Feature& feature : lists) names.push_back(feature.name);
    return fusion::fuse(*ranker.model,
                        instances_by_feature(instances, feature_columns(names, ranker.model->features)));
  }
  fusion::FusedRanking ranking;
  ranking.scores = rrf_scores(instances, ranker.rrf_k);
  ranking.order = fusion::order_instances(instances, ranking.scores);
  ranking.instances = instances;
  return ranking;
}

/// The fused result of a document: the hit of the list that ranks it best, with missing members taken from
/// the other lists.
FusedResult result_of(std::size_t document, const fusion::QueryInstances& instances,
                      const std::vector<FetchedList>& lists, const std::vector<WindowRanks>& window_ranks) {
  FusedResult out;
  out.document = document;
  out.hit.key = std::string(instances.documents[document]);
  const auto ranks = instances.ranks_of(document);
  out.placements.reserve(static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [](std::uint32_t rank) { return rank > 0; })));
  for (std::size_t j = 0; j < ranks.size(); ++j)
    if (ranks[j] > 0) out.placements.push_back({j, static_cast<int>(ranks[j])});
  std::vector<Placement> by_rank = out.placements;
  std::sort(by_rank.begin(), by_rank.end(), [](const Placement& a, const Placement& b) {
    return std::pair(a.rank, a.feature) < std::pair(b.rank, b.feature);
  });
  for (const Placement& place : by_rank) {
    const std::size_t position =
        window_ranks[place.feature].position_of(static_cast<std::size_t>(place.rank));
    const Hit& hit = lists[place.feature].list.hits[position];
    if (out.hit.url.empty()) out.hit.url = hit.url;
    if (out.hit.title.empty()) out.hit.title = hit.title;
    if (out.hit.snippet.empty()) out.hit.snippet = hit.snippet;
    if (out.hit.published.empty()) out.hit.published = hit.published;
    if (out.hit.language.empty()) out.hit.language = hit.language;
    if (out.hit.thumbnail.empty()) out.hit.thumbnail = hit.thumbnail;
    if (out.hit.fingerprint == 0) out.hit.fingerprint = hit.fingerprint;
    if (out.hit.kind == ResultKind::page) out.hit.kind = hit.kind;
    for (const auto& [name, value] : hit.details)
      if (detail(out.hit.details, name).empty()) out.hit.details.emplace_back(name, value);
  }
  return out;
}

/// A later window's result does not get more than those above it.
void set_relevance(const fusion::RelevanceCurve& curve, std::vector<FusedResult>& results) {
  double above = 1.0;
  for (FusedResult& result : results)
    above = *(result.relevance = std::min(above, fusion::relevance_at(curve, result.score)));
}

void set_relative_scores(std::vector<FusedResult>& results) {
  if (results.empty()) return;
  const auto by_score = [](const FusedResult& a, const FusedResult& b) { return a.score < b.score; };
  const auto [worst, best] = std::minmax_element(results.begin(), results.end(), by_score);
  const double low = worst->score;
  const double span = best->score - low;
  double above = 1.0;  // a later window's result must not get more than those above it
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
  note.templates = domain.etag.substr(0, 12);
  if (domain.model) {
    note.method = domain.model->learner;
    note.model = domain.domain.name;
    note.version = domain.served_version();
    note.choice = fusion::brief_choice(domain.model->training);
    note.learned_from = fusion::learned_from(domain.model->training);
    if (domain.is_model_prior)
      note.notice = fmt::format(
          "domain {} has learned nothing yet; results are fused by {} about the same lists and engines",
          domain.domain.name, domain.learned_elsewhere());
    return;
  }
  note.method = "rrf";
  note.notice = "fused by reciprocal rank fusion (RRF), as the request asks";
  if (domain.is_model_left_out) return;
  note.notice = "domain " + domain.domain.name +
                " has no trained model; results are fused by reciprocal rank fusion (RRF)";
}

}  // namespace

namespace {

/// The lists' documents in the model's order, earlier windows first.
struct OrderedInstances {
  fusion::QueryInstances by_list;
  fusion::FusedRanking ranking;
  std::vector<std::uint32_t> windows;  ///< of each document
};

/// in: keys - of the lists' hits
fusion::QueryInstances joined(const std::vector<std::vector<std::string>>& keys,
                              const std::vector<FetchedList>& lists, int depth) {
  std::vector<std::vector<std::string_view>> views;
  for (const auto& list : keys) views.emplace_back(list.begin(), list.end());
  const std::vector<fusion::RankedIds> ids(views.begin(), views.end());
  fusion::QueryInstances out = fusion::collect_instances(ids, std::vector<int>(keys.size(), 0));
  for (std::size_t j = 0; j < lists.size(); ++j) set_ranks(WindowRanks(lists[j], depth).of_hits(), j, out);
  return out;
}

OrderedInstances ordered(const Ranker& ranker, fusion::QueryInstances by_list, const SearchAnswer& answer) {
  OrderedInstances out;
  out.by_list = std::move(by_list);
  out.windows = mask_later_windows(out.by_list, answer.depth);
  out.ranking = ranking_of(ranker, out.by_list, answer.features);
  order_by_window(out.windows, out.ranking.order);
  return out;
}

}  // namespace

namespace {

/// How many of the last features are those of the domain's rerankers.
std::size_t count_rerankers(const templates::Domain& domain, const std::vector<fusion::Feature>& features) {
  std::size_t count = 0;
  const auto is_last = [&](const templates::RerankList& list) {
    return list.feature_name() == features[features.size() - 1 - count].name;
  };
  while (count < features.size() && std::any_of(domain.rerank.begin(), domain.rerank.end(), is_last)) ++count;
  return count;
}

}  // namespace

void fuse_lists(const LoadedDomain& domain, std::vector<FetchedList> lists, SearchAnswer& answer) {
  answer.lists = std::move(lists);
  answer.features.clear();
  auto state = std::make_shared<FusionState>();
  answer.features.reserve(answer.lists.size());
  state->keys.reserve(answer.lists.size());
  for (FetchedList& list : answer.lists) {
    answer.features.push_back({list.query.feature_name(), fusion::FeatureKind::rank, domain.domain.depth});
    auto& keys = state->keys.emplace_back();
    keys.reserve(list.list.hits.size());
    for (const Hit& hit : list.list.hits) keys.push_back(hit.key);
  }
  answer.second_stage = count_rerankers(domain.domain, answer.features);
  answer.depth = domain.domain.depth;
  auto made = ordered(ranker_of(domain), joined(state->keys, answer.lists, answer.depth), answer);
  state->ranking = std::move(made.ranking);
  std::vector<WindowRanks> window_ranks;
  for (const FetchedList& list : answer.lists) window_ranks.emplace_back(list, answer.depth);
  answer.results.clear();
  answer.results.reserve(state->ranking.order.size());
  for (const std::uint32_t document : state->ranking.order) {
    FusedResult& result =
        answer.results.emplace_back(result_of(document, made.by_list, answer.lists, window_ranks));
    result.score = state->ranking.scores[document];
    result.window = std::min(made.windows[document], static_cast<std::uint32_t>(answer.windows - 1));
  }
  answer.state = std::move(state);
  leave_out_unwanted(domain, answer);
  set_relative_scores(answer.results);
  if (domain.model && domain.model->relevance) set_relevance(*domain.model->relevance, answer.results);
  collect_suggestions(answer);
  note_method(domain, answer.fusion);
}

JoinedLists::JoinedLists(const LoadedDomain& domain, const SearchAnswer& answer)
    : domain_(domain), answer_(answer), by_list_(joined(answer.state->keys, answer.lists, answer.depth)) {
  position_.assign(by_list_.documents.size(), kNotShown);
  for (std::size_t i = 0; i < answer.results.size(); ++i)
    if (const std::size_t document = answer.results[i].document; document != FusedResult::kNoDocument)
      position_[document] = i;
}

std::vector<std::size_t> JoinedLists::places_without(std::size_t list) const {
  fusion::QueryInstances others;
  others.lists = by_list_.lists;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < by_list_.documents.size(); ++i) {
    const auto ranks = by_list_.ranks_of(i);
    const auto copy = others.ranks.insert(others.ranks.end(), ranks.begin(), ranks.end());
    copy[static_cast<std::ptrdiff_t>(list)] = 0;
    if (std::all_of(copy, others.ranks.end(), [](std::uint32_t rank) { return rank == 0; })) {
      others.ranks.erase(copy, others.ranks.end());
      continue;
    }
    others.documents.push_back(by_list_.documents[i]);
    positions.push_back(position_[i]);
  }
  const auto made = ordered(ranker_of(domain_), std::move(others), answer_);
  std::vector<std::size_t> out(answer_.results.size(), 0);
  std::size_t place = 0;
  for (const std::uint32_t document : made.ranking.order)
    if (positions[document] != kNotShown) out[positions[document]] = ++place;
  return out;
}

std::vector<std::string_view> keys_by(const fusion::Model& model, const SearchAnswer& answer) {
  const auto made = ordered({&model, 0}, joined(answer.state->keys, answer.lists, answer.depth), answer);
  std::vector<std::string_view> keys;
  for (const std::uint32_t document : made.ranking.order) keys.push_back(made.by_list.documents[document]);
  return keys;
}

std::vector<double> contributions_of(const LoadedDomain& domain, const SearchAnswer& answer,
                                     const FusedResult& result) {
  if (result.document == FusedResult::kNoDocument) return {};
  if (!domain.model) {
    std::vector<double> out(answer.features.size(), 0.0);
    for (const Placement& place : result.placements)
      out[place.feature] = fusion::reciprocal_rank_share(place.rank, domain.domain.rrf_k);
    return out;
  }
  std::vector<double> out;
  for (const auto& share : fusion::explain(*domain.model, answer.state->ranking, result.document).features)
    out.push_back(share.weight);
  return out;
}

}  // namespace metafuse::service
