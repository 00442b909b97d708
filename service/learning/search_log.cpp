#include "service/learning/search_log.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/contract.h"
#include "core/keyed_hash.h"
#include "service/search/list_fusion.h"
#include "service/search/search_pipeline.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSearchesAtOnce = 256;
constexpr std::size_t kMostKnown = 4096;

/// About how many bytes a search takes in the store.
std::uint64_t bytes_of(const StoredSearch& search) {
  std::size_t bytes = sizeof(StoredSearch);
  for (const std::string& document : search.documents) bytes += document.size() + 1;
  for (const StoredList& list : search.lists)
    bytes += list.feature.size() + 4 * (list.documents.size() + list.ranks.size());
  return bytes + 4 * search.set_aside.size();
}
constexpr std::chrono::minutes kBetweenReports{1};

/// The lists of an answer as they were fused, with what was set aside afterwards.
std::vector<StoredList> lists_of(const SearchAnswer& answer, DocumentNumbers& numbers) {
  std::vector<StoredList> lists;
  for (std::size_t i = 0; i < answer.lists.size(); ++i) {
    const fetchers::FetchedList& fetched = answer.lists[i];
    StoredList& list = lists.emplace_back();
    list.feature = answer.features[i].name;
    list.depth = answer.features[i].depth;
    list.has_failed = fetched.has_failed();
    for (const Hit& hit : fetched.list.hits) list.documents.push_back(numbers.of(hit.key));
    list.ranks = WindowRanks(fetched, answer.depth).of_hits();
  }
  return lists;
}

/// The slots of an answer's base query, with the one that a plain query fills, unless the query is only the
/// slots' text.
BaseQuery slots_of(const SearchAnswer& answer, const StoreIdentity& identity) {
  BaseQuery query = answer.slots;
  if (answer.query != query_text({}, query))
    query.slots.emplace(plain_slot_name(identity.plain_slot), answer.query);
  return query;
}

}  // namespace

std::string digest_of(const SearchAnswer& answer, const StoreIdentity& identity) {
  return query_digest(identity.secret, answer.domain, slots_of(answer, identity), identity.plain_slot);
}

StoredSearch stored_search(const SearchAnswer& answer, std::span<const std::size_t> shown,
                           const StoreIdentity& identity, UnixTime now) {
  StoredSearch search;
  search.domain = answer.domain;
  search.slots = slots_of(answer, identity);
  search.query = query_digest(identity.secret, answer.domain, search.slots, identity.plain_slot);
  search.at = now;
  search.model = answer.fusion.version;
  search.challenger = answer.fusion.challenger;
  DocumentNumbers numbers(search);
  for (const std::size_t at : shown) {  // first, so that the limit of documents never cuts what was shown
    require(at < answer.results.size(), "only results of the answer were shown");
    numbers.of(answer.results[at].hit.key);
  }
  for (const FusedResult& result : answer.results) numbers.of(result.hit.key);
  const std::size_t results = search.documents.size();
  search.lists = lists_of(answer, numbers);
  search.set_aside.resize(search.documents.size() - results);
  std::iota(search.set_aside.begin(), search.set_aside.end(), static_cast<std::uint32_t>(results));
  for (const std::size_t at : shown)
    search.shown.push_back(
        {numbers.of(answer.results[at].hit.key), answer.teams.empty() ? Team::none : answer.teams[at]});
  hide_words(search, identity);
  fit_to_limits(search);
  search.id = content_id(identity.secret, search);
  return search;
}

std::shared_ptr<const StoredSearch> RepeatedSearch::at(std::string_view secret, UnixTime now) {
  const std::lock_guard lock(mutex_);
  if (hour_of(latest_->at) == hour_of(now)) return latest_;
  auto again = std::make_shared<StoredSearch>(*latest_);
  again->at = now;
  again->id = content_id(secret, *again);
  latest_ = std::move(again);
  return latest_;
}

std::shared_ptr<const StoredSearch> RepeatedSearch::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void SearchCounts::set_on_drop(OnDrop on_drop) {
  const std::lock_guard lock(mutex_);
  on_drop_ = std::move(on_drop);
}

void SearchCounts::report_dropped(std::size_t searches, const std::string& reason) {
  dropped_ += searches;
  const std::lock_guard lock(mutex_);
  unreported_ += searches;
  const TimePoint now = machine_clock().now();
  if (!on_drop_ || (reported_at_ && now < *reported_at_ + kBetweenReports)) return;
  reported_at_ = now;
  on_drop_(std::exchange(unreported_, 0), reason);
}

SearchLog::SearchLog(Store& store, Options options)
    : store_(store), options_(std::move(options)), writer_([this] { write_until_stopped(); }) {}

SearchLog::~SearchLog() {
  {
    const std::lock_guard lock(mutex_);
    haste_ = Haste::stopping;
  }
  has_work_.notify_one();
  writer_.join();
}

/// Charges a search that was not stored lately to its sender's bytes of the day.
bool SearchLog::fits_into_share(const StoredSearch& search, const std::string& sender) {
  if (sender.empty() || options_.max_bytes == 0) return true;
  if (known_.use(search.id) != nullptr) return true;
  if (const std::int64_t day = day_of(search.at); day != day_) {
    day_ = day;
    bytes_of_sender_ = {};
  }
  std::uint64_t* used = bytes_of_sender_.use(sender);
  if (used == nullptr) used = &bytes_of_sender_.put(sender, 0);
  const std::uint64_t bytes = bytes_of(search);
  if (*used + bytes > options_.max_bytes / kSharesOfDay) return false;
  *used += bytes;
  known_.put(search.id, 0);
  if (known_.size() > kMostKnown) known_.remove_oldest();
  if (bytes_of_sender_.size() > kMostKnown) bytes_of_sender_.remove_oldest();
  return true;
}

bool SearchLog::add(std::shared_ptr<const StoredSearch> search, const std::string& sender) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.max_waiting || !fits_into_share(*search, sender)) {
      counts_.add_dropped();
      return false;
    }
    waiting_.push_back(std::move(search));
    // wake the writer for the first search and for a full batch only
    if (waiting_.size() > 1 && waiting_.size() < kSearchesAtOnce) return true;
  }
  has_work_.notify_one();
  return true;
}

void SearchLog::flush(Duration patience) {
  std::unique_lock lock(mutex_);
  haste_ = std::max(haste_, Haste::flushing);
  has_work_.notify_one();
  is_done_.wait_for(lock, patience,
                    [&, until = done_ + in_work_ + waiting_.size()] { return done_ >= until; });
}

/// Writes one row per search, however often it was shown.
Result<void> SearchLog::write(std::span<const std::shared_ptr<const StoredSearch>> shown) {
  std::vector<StoredSearch> rows;
  TextViewMap<std::size_t> row_of;
  for (const auto& search : shown) {
    const auto [at, is_new] = row_of.try_emplace(search->id, rows.size());
    if (is_new)
      rows.push_back(*search);
    else
      rows[at->second].times += search->times;
  }
  TRY_VOID(store_.searches.add(rows));
  if (options_.max_bytes == 0) return {};
  TRY_VOID(store_.keep_within(options_.max_bytes));
  return {};
}

void SearchLog::write_until_stopped() {
  std::vector<std::shared_ptr<const StoredSearch>> part;
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return !waiting_.empty() || haste_ == Haste::stopping; });
    if (waiting_.empty()) return;
    has_work_.wait_for(lock, options_.gathers,
                       [&] { return waiting_.size() >= kSearchesAtOnce || haste_ != Haste::none; });
    if (haste_ == Haste::flushing) haste_ = Haste::none;
    const auto end =
        waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kSearchesAtOnce));
    part.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    in_work_ = part.size();
    lock.unlock();
    try {
      if (const auto done = write(part))
        counts_.add_written(part.size());
      else
        counts_.report_dropped(part.size(), done.error().text);
    } catch (const std::exception& error) {  // no memory, or a bug: only these searches are lost
      counts_.report_dropped(part.size(), error.what());
    }
    lock.lock();
    done_ += std::exchange(in_work_, 0);
    is_done_.notify_all();
  }
}

}  // namespace metafuse::service
