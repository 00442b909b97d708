#include "service/learning/search_log.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "service/learning/feedback.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSearchesAtOnce = 256;

/// The lists of an answer by rank, out of where each result was placed.
std::vector<StoredList> lists_of(const SearchAnswer& answer) {
  std::vector<std::vector<std::pair<int, std::uint32_t>>> placed(answer.features.size());
  for (std::size_t i = 0; i < answer.results.size(); ++i)
    for (const Placement& placement : answer.results[i].placements)
      placed[placement.feature].emplace_back(placement.rank, static_cast<std::uint32_t>(i));
  std::vector<StoredList> lists(answer.features.size());
  for (std::size_t f = 0; f < lists.size(); ++f) {
    lists[f].feature = answer.features[f].name;
    lists[f].depth = answer.features[f].depth;
    lists[f].has_failed = f < answer.lists.size() && answer.lists[f].has_failed();
    std::sort(placed[f].begin(), placed[f].end());
    for (const auto& [rank, document] : placed[f]) lists[f].documents.push_back(document);
  }
  return lists;
}

}  // namespace

StoredSearch stored_search(const SearchAnswer& answer, std::span<const std::size_t> shown,
                           std::string_view secret, bool are_queries_hashed, UnixTime now) {
  StoredSearch search;
  search.id = new_search_id();
  search.domain = answer.domain;
  BaseQuery query = answer.slots;
  if (query.slots.empty()) query.slots.emplace("QUERY", answer.query);
  search.query = query_digest(secret, answer.domain, query);
  if (!are_queries_hashed) search.slots = std::move(query);
  search.at = now;
  search.model = answer.fusion.version;
  search.challenger = answer.fusion.challenger;
  for (const FusedResult& result : answer.results) search.documents.push_back(result.key);
  search.lists = lists_of(answer);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    require(shown[i] < answer.results.size(), "only results of the answer were shown");
    search.shown.push_back(
        {static_cast<std::uint32_t>(shown[i]), answer.teams.empty() ? Team::none : answer.teams[shown[i]]});
  }
  fit_to_limits(search);
  return search;
}

SearchLog::SearchLog(Store& store, std::size_t max_waiting)
    : store_(store), max_waiting_(max_waiting), writer_([this] { write_until_stopped(); }) {}

SearchLog::~SearchLog() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_work_.notify_one();
  writer_.join();
}

bool SearchLog::add(std::shared_ptr<const StoredSearch> search, std::string id, UnixTime at) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= max_waiting_) {
      ++dropped_;
      return false;
    }
    waiting_.push_back({std::move(search), std::move(id), at});
    ++added_;
  }
  has_work_.notify_one();
  return true;
}

void SearchLog::flush() {
  std::unique_lock lock(mutex_);
  is_done_.wait(lock, [&, until = added_] { return done_ >= until; });
}

void SearchLog::write_until_stopped() {
  std::vector<Shown> shown;
  std::vector<StoredSearch> part;
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return !waiting_.empty() || is_stopping_; });
    if (waiting_.empty()) return;
    const auto end =
        waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kSearchesAtOnce));
    shown.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    lock.unlock();
    part.clear();
    for (const Shown& item : shown) {
      part.push_back(*item.search);
      part.back().id = item.id;
      part.back().at = item.at;
    }
    const bool is_written = store_.add_searches(part).has_value();
    (is_written ? written_ : dropped_) += part.size();
    lock.lock();
    done_ += part.size();
    is_done_.notify_all();
  }
}

}  // namespace metafuse::service
