#include "service/learning/online_rerankers.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "core/atomic_file.h"
#include "core/json_members.h"
#include "core/text_file.h"
#include "fusion/data/features.h"
#include "fusion/model/fuse.h"
#include "service/learning/store_training.h"

namespace metafuse::service {
namespace {

using fusion::online::Reranker;
using fusion::online::RerankerFeedback;

constexpr std::string_view kFormat = "metafuse-online";
constexpr std::size_t kMaxStateBytes = std::size_t{64} << 20;
constexpr std::size_t kMostPassedOver = 10;
constexpr int kPassedOver = 1;
constexpr int kChosen = 2;

/// The reranker that was saved for this model, or a new one.
Result<Reranker> loaded(const std::string& file, const LoadedDomain& domain) {
  const auto text = read_text(file, kMaxStateBytes);
  const auto json = text ? parse_json(*text, file) : Result<Json>(text.error());
  const Json value = json ? *json : Json();
  const JsonMembers members(value);
  const auto* model = members.text("model");
  const JsonObject* state = members.object("state");
  if (model != nullptr && *model == domain.model_digest && state != nullptr)
    if (auto resumed = Reranker::resume(*domain.model, *state)) return resumed;
  return Reranker::over(*domain.model, {});
}

/// The row of a document in the instances, or nothing.
std::optional<std::size_t> row_of_answer(const fusion::QueryInstances& instances, std::string_view document) {
  const auto at = std::lower_bound(instances.documents.begin(), instances.documents.end(), document);
  if (at == instances.documents.end() || *at != document) return std::nullopt;
  return static_cast<std::size_t>(at - instances.documents.begin());
}

}  // namespace

std::vector<RerankerFeedback> reranker_feedback(const StoredSearch& search,
                                                const fusion::QueryInstances& instances,
                                                std::uint32_t position, std::optional<int> grade,
                                                std::span<const Click> clicks) {
  std::vector<RerankerFeedback> out;
  const auto add = [&](std::uint32_t at, int level) {
    if (const auto row = row_of_answer(instances, search.documents[search.shown[at].document]))
      out.push_back({*row, level});
  };
  if (position >= search.shown.size()) return out;
  if (grade) {
    add(position, *grade > 0 ? kChosen : kPassedOver);
    return out;
  }
  for (std::uint32_t at = position; at-- > 0 && out.size() < kMostPassedOver;) {
    const auto is_here = [&](const Click& click) { return click.position == at; };
    if (std::none_of(clicks.begin(), clicks.end(), is_here)) add(at, kPassedOver);
  }
  add(position, kChosen);
  return out;
}

std::string OnlineRerankers::file_of(const std::string& domain) const {
  return (std::filesystem::path(folder_) / "online" / (domain + ".json")).string();
}

OnlineRerankers::Entry* OnlineRerankers::entry_of(const LoadedDomain& domain) {
  if (!domain.model) return nullptr;
  Entry& entry = entries_[domain.domain.name];
  if (entry.reranker != nullptr && entry.model == domain.model_digest) {
    entry.generation = std::max(entry.generation, domain.generation);
    return &entry;
  }
  // a request that began before a reload must not undo what was learned since
  if (entry.reranker != nullptr && domain.generation < entry.generation) return nullptr;
  auto reranker = loaded(file_of(domain.domain.name), domain);
  if (!reranker) return nullptr;
  entry = {domain.generation, domain.model_digest, std::make_shared<const Reranker>(std::move(*reranker))};
  return &entry;
}

RerankerPointer OnlineRerankers::find(const LoadedDomain& domain) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(domain);
  return entry == nullptr || entry->reranker->steps() == 0 ? nullptr : entry->reranker;
}

std::uint64_t OnlineRerankers::steps(const LoadedDomain& domain) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(domain);
  return entry == nullptr ? 0 : entry->reranker->steps();
}

Result<void> OnlineRerankers::learn(const LoadedDomain& domain, Store& store, const FeedbackRequest& request,
                                    const FeedbackRules& rules) {
  if (!domain.model) return {};
  TRY(const auto found, store.searches.find(request.search));
  if (!found || common_features(*found, domain.model->features) < fusion::list_count(*domain.model))
    return {};
  const StoredSearch& search = *found;
  const auto position = shown_position(search, request, rules);
  if (!position) return {};
  TRY(const auto clicks, store.clicks.of(request.search));
  const bool is_judgment = request.kind == FeedbackRequest::Kind::judgment;
  const auto instances = stored_instances(search, domain.model->features);
  const auto feedback = reranker_feedback(
      search, instances, *position, is_judgment ? std::optional<int>(request.grade) : std::nullopt, clicks);
  const auto matrix = fusion::feature_matrix(domain.model->features, instances);
  {
    const std::lock_guard lock(mutex_);
    Entry* entry = entry_of(domain);
    if (entry == nullptr || feedback.empty()) return {};
    auto next = std::make_shared<Reranker>(*entry->reranker);
    if (auto learned = next->learn(matrix, feedback); !learned) return learned;
    entry->reranker = std::move(next);
  }
  return save(domain.domain.name);
}

Result<void> OnlineRerankers::reset(const LoadedDomain& domain) {
  const std::lock_guard save_lock(save_mutex_);
  const std::lock_guard lock(mutex_);
  entries_.erase(domain.domain.name);
  const std::string file = file_of(domain.domain.name);
  std::error_code problem;
  std::filesystem::remove(file, problem);
  if (problem) return fail(Code::try_again, file + ": " + problem.message());
  return {};
}

Result<void> OnlineRerankers::save(const std::string& domain) {
  const std::lock_guard save_lock(save_mutex_);
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(domain);
    if (at == entries_.end()) return {};
    entry = at->second;
  }
  const std::string file = file_of(domain);
  std::error_code ignored;  // if this fails, the write below reports it
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  return write_file(
      file,
      to_text(JsonObject{
          {"format", kFormat}, {"version", 1}, {"model", entry.model}, {"state", entry.reranker->state()}}));
}

SearchAnswer reranked_answer(const LoadedDomain& domain, const SearchAnswer& answer,
                             const Reranker& reranker) {
  const auto matrix = fusion::feature_matrix(domain.model->features, answer.state->ranking.instances);
  const std::vector<double> scores = reranker.score(matrix);
  const auto window_of = [&](const FusedResult& result) {
    int best = result.placements.front().rank;
    for (const Placement& place : result.placements) best = std::min(best, place.rank);
    return (best - 1) / domain.domain.depth;
  };
  std::vector<std::size_t> order(answer.results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const FusedResult& first = answer.results[a];
    const FusedResult& second = answer.results[b];
    const int windows[] = {window_of(first), window_of(second)};
    if (windows[0] != windows[1]) return windows[0] < windows[1];
    return scores[first.document] > scores[second.document];
  });
  SearchAnswer out = answer;
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.results[i] = answer.results[order[i]];
    out.results[i].moved_from = order[i] + 1;
    out.results[i].online_score = scores[out.results[i].document];
    out.results[i].relative_score = answer.results[i].relative_score;
  }
  out.fusion.online_steps = reranker.steps();
  return out;
}

}  // namespace metafuse::service
