#include "fetchers/engine_fetcher.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/parallel.h"
#include "fetchers/best_hits.h"
#include "fetchers/embedded/embedded_list.h"
#include "fetchers/list_task.h"
#include "fetchers/mailbox.h"

namespace metafuse::fetchers {
namespace {

constexpr unsigned kEmbeddedThreads = 2;

std::string late_key(const ExpandedQuery& query, const FetchOptions& options) {
  return query.engine + '\n' + query.text + '\n' + std::to_string(options.depth) + ' ' +
         std::to_string(options.page) + ' ' + options.language + ' ' + options.time_range + ' ' +
         std::to_string(options.safe_search);
}

}  // namespace

/// One fetch: what became of each query, and until when each is waited for.
class EngineFetcher::Round : public std::enable_shared_from_this<EngineFetcher::Round> {
 public:
  using OnList = std::function<void(const FetchedList&)>;

  Round(EngineFetcher& fetcher, std::span<const ExpandedQuery> queries, const FetchOptions& options,
        const OnList& on_list)
      : shared_(fetcher.shared_), options_(options), on_list_(on_list), slots_(queries.size()) {
    for (std::size_t i = 0; i < queries.size(); ++i) slots_[i].fetched.query = queries[i];
    start_ = shared_->clock->now();
  }

  std::vector<FetchedList> run(EngineFetcher& fetcher) {
    std::vector<std::size_t> embedded;
    ask_breakers();
    for (std::size_t i = 0; i < slots_.size(); ++i) start(fetcher, i, embedded);
    run_embedded(fetcher, embedded);
    while (!is_complete()) {
      mailbox_.run(next_moment());
      give_up_overdue();
    }
    mailbox_.leave();
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    std::vector<FetchedList> out;
    for (Slot& slot : slots_) out.push_back(std::move(slot.fetched));
    return out;
  }

 private:
  struct Slot {
    FetchedList fetched;
    EngineState* state = nullptr;
    TimePoint wait_until{};
    Breaker::Verdict verdict = Breaker::Verdict::go;
    bool is_done = false;
    bool is_overdue = false;  ///< nobody waits, and the engine's counter knows
  };

  /// Which engines are left alone. When that would be all, the one whose time is nearest is asked after all.
  void ask_breakers() {
    EngineState* nearest = nullptr;
    bool is_any_open = false;
    std::map<EngineState*, bool> alone;
    for (Slot& slot : slots_) {
      slot.state = shared_->find(slot.fetched.query.engine);
      if (slot.state == nullptr) continue;
      if (!slot.state->http || !shared_->options.uses_breaker) {
        is_any_open = true;
        continue;
      }
      const std::lock_guard lock(slot.state->mutex);
      const auto known = alone.find(slot.state);
      if (known != alone.end() && known->second) {
        slot.verdict = Breaker::Verdict::stay;
        continue;
      }
      slot.verdict = slot.state->breaker.ask(start_);
      const bool is_stuck = slot.state->overdue > 0 && slot.state->last_success < slot.state->overdue_since;
      if (slot.verdict == Breaker::Verdict::go && is_stuck) slot.verdict = Breaker::Verdict::stay;
      alone[slot.state] = slot.verdict != Breaker::Verdict::go;
      if (slot.verdict == Breaker::Verdict::go) is_any_open = true;
      if (slot.verdict == Breaker::Verdict::go || slot.state->breaker.is_closed()) continue;
      if (nearest == nullptr || slot.state->breaker.open_until() < nearest->breaker.open_until())
        nearest = slot.state;
    }
    if (!is_any_open && nearest == nullptr)
      for (Slot& slot : slots_)
        if (slot.state != nullptr) nearest = slot.state;
    if (!is_any_open && nearest != nullptr) force(*nearest);
  }

  void force(EngineState& state) {
    const std::lock_guard lock(state.mutex);
    state.breaker.force();
    for (Slot& slot : slots_)
      if (slot.state == &state) slot.verdict = Breaker::Verdict::go;
    forced_ = &state;
  }

  void start(EngineFetcher& fetcher, std::size_t i, std::vector<std::size_t>& embedded) {
    Slot& slot = slots_[i];
    if (slot.state == nullptr)
      return settle(i, Failure::not_allowed, "no engine \"" + slot.fetched.query.engine + "\" is defined");
    if (slot.state->engine.is_disabled)
      return settle(i, Failure::not_allowed, "the engine is disabled in its definition");
    slot.wait_until = options_.deadline.at();
    if (!slot.state->http) return embedded.push_back(i);
    if (auto late = shared_->late.is_empty()
                        ? std::nullopt
                        : shared_->late.take(late_key(slot.fetched.query, options_), start_)) {
      slot.fetched.list = std::move(*late);
      return settle(i, Failure::none, "");
    }
    if (const std::string why = loop_danger(*slot.state); !why.empty())
      return settle(i, Failure::not_allowed, why);
    if (slot.verdict == Breaker::Verdict::stay)
      return settle(i, Failure::breaker_open, why_open(*slot.state));
    const bool is_probe = slot.verdict == Breaker::Verdict::probe || slot.state == forced_;
    if (slot.verdict == Breaker::Verdict::probe) settle(i, Failure::breaker_open, why_open(*slot.state));
    set_wait(slot);
    auto self = shared_from_this();
    auto task = std::make_shared<ListTask>(
        shared_, *slot.state, *fetcher.transport_, slot.fetched.query, options_,
        [self](std::function<void()> event) { self->mailbox_.post(std::move(event)); },
        [self, i, is_probe](FetchedList list, std::optional<Duration> retry_after) {
          self->deliver(i, std::move(list), is_probe, retry_after);
        });
    task->start();
  }

  std::string loop_danger(const EngineState& state) const {
    if (!state.http->access.is_federation) return {};
    if (options_.hops >= kMostHops)
      return "the query came through " + std::to_string(options_.hops) + " meta-search servers already";
    const auto& own = shared_->options.own_addresses;
    if (std::find(own.begin(), own.end(), state.http->own_origin) != own.end())
      return "the engine is this server itself";
    return {};
  }

  static std::string why_open(EngineState& state) {
    const std::lock_guard lock(state.mutex);
    return state.breaker.is_closed()
               ? "the engine has not answered an earlier query yet; it is left alone until then"
               : "the engine failed several times; it is left alone for a while";
  }

  void set_wait(Slot& slot) {
    if (!shared_->options.learned_wait.is_on) return;
    const std::lock_guard lock(slot.state->mutex);
    if (const auto limit = slot.state->learned_wait.limit(shared_->options.learned_wait))
      slot.wait_until = std::min(slot.wait_until, start_ + *limit);
  }

  /// Several lists at once: the embedded index is ours, and two cores search two lists.
  void run_embedded(EngineFetcher& fetcher, const std::vector<std::size_t>& embedded) {
    const unsigned threads = embedded.size() > 1 ? std::min(kEmbeddedThreads, hardware_threads()) : 1;
    parallel_for(embedded.size(), threads, [&](std::size_t at) {
      FetchedList& fetched = slots_[embedded[at]].fetched;
      if (fetcher.archive_)
        replay_embedded(*fetcher.archive_, options_, fetched);
      else
        search_embedded(*slots_[embedded[at]].state->embedded, options_, *shared_->clock,
                        fetcher.writer_.get(), fetched);
      keep_best_of_each(fetched.list, options_.depth, shared_->options.tracking);
      settle(embedded[at], fetched.failure, fetched.message);
    });
  }

  void settle(std::size_t i, Failure failure, std::string message) {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[i];
    slot.fetched.failure = failure;
    slot.fetched.message = std::move(message);
    if (failure != Failure::none) slot.fetched.list = {};
    slot.is_done = true;
    if (on_list_) on_list_(slot.fetched);
  }

  void deliver(std::size_t i, FetchedList list, bool is_probe, std::optional<Duration> retry_after) {
    note_outcome(i, list, is_probe, retry_after);
    if (list.failure == Failure::none)
      keep_best_of_each(list.list, options_.depth, shared_->options.tracking);
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[i];
    if (slot.is_done || has_ended_) {
      if (list.failure == Failure::none && !list.list.hits.empty())
        shared_->late.put(late_key(list.query, options_), std::move(list.list), shared_->clock->now());
      forget_overdue(slot);
      return;
    }
    slot.fetched = std::move(list);
    slot.is_done = true;
    if (on_list_) on_list_(slot.fetched);
  }

  void note_outcome(std::size_t i, const FetchedList& list, bool is_probe,
                    std::optional<Duration> retry_after) {
    EngineState& state = *slots_[i].state;
    const std::lock_guard lock(state.mutex);
    const TimePoint now = shared_->clock->now();
    if (list.failure == Failure::none) {
      state.breaker.succeeded();
      state.last_success = now;
      state.learned_wait.add(list.elapsed);
      return;
    }
    if (list.failure == Failure::not_allowed || list.failure == Failure::not_recorded) {
      if (is_probe) state.breaker.succeeded();
      return;
    }
    state.breaker.failed(now, is_probe, retry_after);
  }

  static void forget_overdue(Slot& slot) {
    if (!slot.is_overdue) return;
    slot.is_overdue = false;
    const std::lock_guard lock(slot.state->mutex);
    --slot.state->overdue;
  }

  bool is_complete() {
    const std::lock_guard lock(mutex_);
    return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_done; });
  }

  TimePoint next_moment() {
    const std::lock_guard lock(mutex_);
    TimePoint next = options_.deadline.at();
    for (const Slot& slot : slots_)
      if (!slot.is_done) next = std::min(next, slot.wait_until);
    return next;
  }

  void give_up_overdue() {
    const TimePoint now = shared_->clock->now();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (slot.is_done || now < slot.wait_until) continue;
      {
        const std::lock_guard lock(slot.state->mutex);
        if (slot.state->overdue++ == 0) slot.state->overdue_since = now;
      }
      slot.is_overdue = true;
      slot.fetched.elapsed = now - start_;
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_).count();
      const bool is_learned = slot.wait_until < options_.deadline.at();
      settle(i, Failure::timeout,
             "no answer within " + std::to_string(waited) + " ms" +
                 (is_learned ? ", longer than it usually takes" : ", the deadline of the search"));
    }
  }

  std::shared_ptr<SharedState> shared_;
  const FetchOptions options_;
  const OnList on_list_;
  TimePoint start_;
  EngineState* forced_ = nullptr;
  Mailbox mailbox_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  bool has_ended_ = false;
};

EngineFetcher::EngineFetcher(std::shared_ptr<SharedState> shared, std::unique_ptr<HarWriter> writer,
                             std::unique_ptr<HarArchive> archive, std::unique_ptr<Transport> transport)
    : shared_(std::move(shared)),
      writer_(std::move(writer)),
      archive_(std::move(archive)),
      transport_(std::move(transport)) {}

EngineFetcher::~EngineFetcher() = default;

std::vector<FetchedList> EngineFetcher::fetch(std::span<const ExpandedQuery> queries,
                                              const FetchOptions& options,
                                              const std::function<void(const FetchedList&)>& on_list) {
  return std::make_shared<Round>(*this, queries, options, on_list)->run(*this);
}

}  // namespace metafuse::fetchers
