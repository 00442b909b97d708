// One fetch is a Round, which runs on the caller's thread. The transport, the workers and the Embedder post
// their answers as events into the Round's mailbox, where the caller's thread handles them. Once the caller
// has left, a thread for late answers handles them: lists are kept for later queries, and the engines'
// states are updated. Events of a Round never overlap. `mutex_` guards the slots and serialises on_list; it
// is locked before an EngineState's mutex, never after.

#include "fetchers/calling/engine_fetcher.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/deadline.h"
#include "core/parallel.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/calling/embedder.h"
#include "fetchers/calling/engine_choice.h"
#include "fetchers/calling/fetcher.h"
#include "fetchers/calling/hostnames.h"
#include "fetchers/calling/list_task.h"
#include "fetchers/calling/mailbox.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/calling/patience.h"
#include "fetchers/engines/http/engine_request.h"
#include "fetchers/http/transport.h"
#include "fetchers/recording/har_archive.h"

namespace metafuse::fetchers {
namespace {

constexpr unsigned kEmbeddedThreads = 2;

}  // namespace

/// One fetch: the outcome of each query, and how long each list is waited for.
class EngineFetcher::Round : public std::enable_shared_from_this<EngineFetcher::Round> {
 public:
  using OnList = std::function<void(const FetchedList&)>;

  Round(EngineFetcher& fetcher, std::span<const ExpandedQuery> queries, const FetchOptions& options,
        const OnList& on_list)
      : shared_(fetcher.shared_),
        options_(options),
        on_list_(on_list),
        start_(shared_->clock->now()),
        slots_(queries.size()),
        patience_(queries.size(), start_, options.deadline.at(), shared_->options.learned_wait,
                  options.sender) {
    for (std::size_t i = 0; i < queries.size(); ++i) slots_[i].fetched.query = queries[i];
  }

  std::vector<FetchedList> run(EngineFetcher& fetcher) {
    std::vector<std::size_t> embedded;
    choose();
    {
      TransportWait wait(*fetcher.wires_.transport, waits_for_http_alone());
      for (std::size_t i = 0; i < slots_.size(); ++i) start(fetcher, i, embedded);
      run_embedded(fetcher, embedded);
      while (!is_complete()) {
        const TimePoint next = next_moment();
        if (!wait.work(next, [this] { return mailbox_.has_news(); })) mailbox_.wait(next);
        mailbox_.run();
        send_hedges(fetcher);
        give_up_overdue();
      }
    }
    has_left_ = true;
    mailbox_.leave([weak = weak_from_this()] {
      const auto self = weak.lock();  // whoever posts an event holds the round
      if (!self) return false;
      const auto late = std::make_shared<LateWork>(self);
      return self->shared_->run_late([late] { late->run(); });
    });
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    std::vector<FetchedList> out;
    for (Slot& slot : slots_) out.push_back(std::move(slot.fetched));
    return out;
  }

 private:
  /// Runs the events that came after the caller left. If it is dropped instead, at the end, they are
  /// dropped too, because they hold the round.
  class LateWork {
   public:
    explicit LateWork(std::shared_ptr<Round> round) : round_(std::move(round)) {}
    LateWork(const LateWork&) = delete;
    LateWork& operator=(const LateWork&) = delete;
    ~LateWork() {
      if (!has_run_) round_->mailbox_.drop_late();
    }
    void run() {
      has_run_ = true;
      round_->mailbox_.run_late();
    }

   private:
    std::shared_ptr<Round> round_;
    bool has_run_ = false;
  };

  struct Slot {
    FetchedList fetched;
    RankedList so_far;             ///< the pages that have arrived, while more are under way
    EngineState* state = nullptr;  ///< which knows how long the engine takes, whatever instance answers
    std::pair<Failure, std::string> refusal;  ///< the text is empty if the query may be sent
    EngineChoice choice;
    int under_way = 0;  ///< requests that may still bring the list
    bool is_done = false;
    bool is_whole = false;      ///< the list arrived with all its pages
    bool has_answered = false;  ///< `choice.asked` has, or failed
    bool is_overdue = false;    ///< nobody waits for it; in EngineState::overdue of `choice.asked`
  };

  enum class Purpose { list, hedge, probe };

  /// Whether this thread has nothing else to do while it waits, and only the transport brings it news: tokens
  /// come by another one.
  bool waits_for_http_alone() const {
    return !on_list_ && std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.state == nullptr || (slot.state->http && !slot.state->tokens);
    });
  }

  void choose() {
    std::vector<EngineState*> engines;
    for (Slot& slot : slots_) {
      slot.state = shared_->find(slot.fetched.query.engine);
      slot.refusal = refusal_of(slot);
      engines.push_back(slot.refusal.second.empty() ? slot.state : nullptr);
    }
    const auto choices = choose_engines(engines, options_.sender, shared_->options.uses_breaker, start_);
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].choice = choices[i];
  }

  void start(EngineFetcher& fetcher, std::size_t i, std::vector<std::size_t>& embedded) {
    Slot& slot = slots_[i];
    if (const auto& [failure, why] = slot.refusal; !why.empty()) return settle(i, failure, why);
    if (!slot.state->http) patience_.ask(i, nullptr);
    if (slot.state->embedded && slot.state->engine.embedding) return ask_with_vector(fetcher, i);
    if (slot.state->embedded && slot.state->embedded->blocks()) return ask_on_worker(fetcher, i, nullptr);
    if (!slot.state->http) return embedded.push_back(i);
    if (!takes_late_list(i)) return ask_over_http(fetcher, i);
    EngineState* const due = slot.choice.is_forced ? slot.choice.asked : slot.choice.probed;
    if (due != nullptr) send(fetcher, i, *due, Purpose::probe);  // its breaker waits for the outcome
  }

  /// Why the query is not sent to the engine, whatever its breaker says.
  std::pair<Failure, std::string> refusal_of(const Slot& slot) const {
    const ExpandedQuery& query = slot.fetched.query;
    if (slot.state == nullptr) return {Failure::not_allowed, "no engine \"" + query.engine + "\" is defined"};
    const Engine& engine = slot.state->engine;
    if (engine.is_disabled) return {Failure::not_allowed, "the engine is disabled in its definition"};
    constexpr std::size_t kMostOverHttp = 2000;
    const std::size_t most =
        engine.max_query_bytes.value_or(slot.state->http ? kMostOverHttp : query.text.size());
    if (query.text.size() > most)
      return {Failure::query_too_long,
              fmt::format(
                  "the query has {} bytes, more than this engine's max_query_bytes of {}; it was not sent",
                  query.text.size(), most)};
    if (!slot.state->http) return {};
    return {Failure::not_allowed, loop_danger(*slot.state)};
  }

  /// Takes a list that arrived too late for an earlier query with the same text; false when there is none.
  bool takes_late_list(std::size_t i) {
    FetchedList& fetched = slots_[i].fetched;
    if (shared_->late.is_empty()) return false;
    auto late = shared_->late.find(late_key(fetched.query, options_), start_);
    if (!late) return false;
    fetched.list = std::move(*late);
    settle(i, Failure::none, "");
    return true;
  }

  void ask_over_http(EngineFetcher& fetcher, std::size_t i) {
    Slot& slot = slots_[i];
    const EngineChoice& choice = slot.choice;
    if (choice.asked == nullptr) settle(i, Failure::breaker_open, why_left_alone(*slot.state));
    if (choice.probed != nullptr) send(fetcher, i, *choice.probed, Purpose::probe);
    if (choice.asked == nullptr) return;
    if (!choice.is_forced && slot.state->is_hopeless(options_.sender, options_.deadline.at() - start_))
      return settle(i, Failure::timeout,
                    "the deadline is shorter than this engine's fastest answer; it was not asked");
    patience_.ask(i, slot.state);
    send(fetcher, i, *choice.asked, Purpose::list);
  }

  void send(EngineFetcher& fetcher, std::size_t i, EngineState& instance, Purpose purpose) {
    if (purpose != Purpose::probe) ++slots_[i].under_way;
    auto self = shared_from_this();
    ListTask::Job job{instance,
                      *fetcher.wires_.transport,
                      fetcher.wires_.token_transport.get(),
                      slots_[i].fetched.query,
                      options_,
                      [self](std::function<void()> event) { self->mailbox_.post(std::move(event)); },
                      [self, i, &instance, purpose](FetchedList list) {
                        self->deliver(i, std::move(list), instance, purpose);
                      },
                      [self, i](RankedList so_far) { self->keep(i, std::move(so_far)); },
                      [self, i] { self->note_request(i); },
                      [self] { return self->is_futile(); },
                      purpose == Purpose::hedge};
    std::make_shared<ListTask>(shared_, std::move(job))->start();
  }

  void note_request(std::size_t i) {
    const std::lock_guard lock(mutex_);
    const bool is_replay = shared_->options.recording == FetcherOptions::Recording::replay;
    if (!has_ended_ && !is_replay) ++slots_[i].fetched.requests;
  }

  /// Asks another instance for a list that is later than usual, if its answer may come in time.
  void send_hedges(EngineFetcher& fetcher) {
    const TimePoint now = shared_->clock->now();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      {
        const std::lock_guard lock(mutex_);
        const auto at = patience_.hedge_at(i);
        if (!at || now < *at || !patience_.is_hedge_worth(i, now)) continue;
      }
      EngineState* const other = other_instance(*slot.state, slot.choice.asked, options_.sender, now);
      if (other == nullptr) continue;
      if (!shared_->hedges.take(plan_pages(slot.state->http->access, options_).count)) continue;
      slot.fetched.hedge = Hedge::lost;
      send(fetcher, i, *other, Purpose::hedge);
    }
  }

  /// An embedded engine that needs the query's vector first. Once the vector is there, the search runs on the
  /// thread that waits for the lists, or on a worker if the engine blocks.
  void ask_with_vector(EngineFetcher& fetcher, std::size_t i) {
    auto self = shared_from_this();
    shared_->embedder->embed(
        *slots_[i].state->engine.embedding, slots_[i].fetched.query.text, options_, start_,
        *fetcher.wires_.transport, [self, &fetcher, i](const EmbeddedText& text) {
          self->mailbox_.post([self, &fetcher, i, text] { self->take_vector(fetcher, i, text); });
        });
  }

  void take_vector(EngineFetcher& fetcher, std::size_t i, const EmbeddedText& text) {
    {
      const std::lock_guard lock(mutex_);
      if (slots_[i].is_done || has_ended_) return;
    }
    if (!text.vector) return settle(i, text.failure, text.message);
    if (slots_[i].state->embedded->blocks()) return ask_on_worker(fetcher, i, text.vector);
    search_slot(fetcher, i, *text.vector);
  }

  /// Searches an engine that blocks on another thread, once it is this sender's turn.
  void ask_on_worker(EngineFetcher& fetcher, std::size_t i, const SharedVector& vector) {
    EngineState& state = *slots_[i].state;
    HarWriter* const writer = fetcher.wires_.writer.get();
    const auto search = [weak = weak_from_this(), writer, vector, i] {
      if (const auto self = weak.lock()) self->search_on_worker(i, vector, writer);
    };
    if (!state.run_in_turn({options_.sender, search}, *fetcher.workers_, *shared_->clock))
      settle(i, Failure::rate_limited, "too many searches wait for this engine");
  }

  /// That thread writes into a list of its own, because this fetch may end first.
  void search_on_worker(std::size_t i, const SharedVector& vector, HarWriter* writer) {
    auto fetched = std::make_shared<FetchedList>();
    {
      const std::lock_guard lock(mutex_);
      if (slots_[i].is_done || has_ended_) return;
      fetched->query = slots_[i].fetched.query;
    }
    search_embedded(*slots_[i].state->embedded, options_, *shared_->clock, writer, *fetched,
                    vector ? std::span<const float>(*vector) : std::span<const float>());
    auto self = shared_from_this();
    mailbox_.post([self, fetched, i] { self->take_from_worker(i, *fetched); });
  }

  void take_from_worker(std::size_t i, FetchedList& fetched) {
    tidy(fetched.list);
    {
      const std::lock_guard lock(mutex_);
      if (slots_[i].is_done || has_ended_) return;
      slots_[i].fetched.list = std::move(fetched.list);
      slots_[i].fetched.elapsed = fetched.elapsed;
    }
    settle(i, fetched.failure, fetched.message);
  }

  void search_slot(EngineFetcher& fetcher, std::size_t i, std::span<const float> vector) {
    FetchedList& fetched = slots_[i].fetched;
    if (fetcher.wires_.archive)
      replay_embedded(*fetcher.wires_.archive, options_, fetched);
    else
      search_embedded(*slots_[i].state->embedded, options_, *shared_->clock, fetcher.wires_.writer.get(),
                      fetched, vector);
    tidy(fetched.list);
    settle(i, fetched.failure, fetched.message);
  }

  /// Whether an answer need not be parsed: the process ends, or nobody waits for it and others queue.
  bool is_futile() const { return shared_->is_ending || (has_left_ && shared_->is_behind()); }

  std::string loop_danger(const EngineState& state) const {
    if (!state.http->access.is_federation) return {};
    if (options_.hops >= kMostHops)
      return "the query has already passed through " + std::to_string(options_.hops) + " meta-search servers";
    const auto& own = shared_->options.own_addresses;
    if (std::find(own.begin(), own.end(), state.http->own_origin) != own.end())
      return "the engine is this server itself";
    return {};
  }

  /// Searches several lists at once: an embedded engine runs in this process, and two cores can search
  /// two lists.
  void run_embedded(EngineFetcher& fetcher, const std::vector<std::size_t>& embedded) {
    const unsigned threads = embedded.size() > 1 ? std::min(kEmbeddedThreads, hardware_threads()) : 1;
    parallel_for(embedded.size(), threads, [&](std::size_t at) { search_slot(fetcher, embedded[at], {}); });
  }

  void settle(std::size_t i, Failure failure, std::string message) {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[i];
    slot.fetched.failure = failure;
    slot.fetched.message = std::move(message);
    if (failure != Failure::none) slot.fetched.list = {};
    complete(slot);
  }

  /// Requires the lock.
  void complete(Slot& slot) {
    slot.is_done = true;
    patience_.end(static_cast<std::size_t>(&slot - slots_.data()), !slot.fetched.has_failed(),
                  !slot.fetched.list.hits.empty());
    if (on_list_) on_list_(slot.fetched);
  }

  void deliver(std::size_t i, FetchedList list, EngineState& instance, Purpose purpose) {
    Slot& slot = slots_[i];
    const bool is_probe = purpose == Purpose::probe || slot.choice.is_forced || &instance != slot.state;
    note_outcome(instance, list, is_probe, shared_->clock->now());
    note_time(*slot.state, list);
    if (list.failure == Failure::none) tidy(list.list);
    const std::lock_guard lock(mutex_);
    if (purpose != Purpose::probe) --slot.under_way;
    if (&instance == slot.choice.asked) slot.has_answered = true;
    if (slot.is_done || has_ended_) {
      if (!list.has_failed() && !list.lacks_pages && !list.list.hits.empty() && !slot.is_whole)
        shared_->late.put(late_key(list.query, options_), std::move(list.list), shared_->clock->now());
      if (&instance == slot.choice.asked) forget_overdue(slot);
      return;
    }
    if (list.has_failed() && (purpose == Purpose::probe || slot.under_way > 0)) return;
    if (!list.has_failed()) note_overdue(slot, false);  // if another than the asked instance came first
    if (slot.fetched.hedge != Hedge::none) {
      list.hedge = purpose == Purpose::hedge && !list.has_failed() ? Hedge::won : Hedge::lost;
      list.elapsed = shared_->clock->now() - start_;
    }
    slot.is_whole = !list.has_failed() && !list.lacks_pages;
    list.requests = slot.fetched.requests;
    slot.fetched = std::move(list);
    complete(slot);
  }

  /// Keeps the pages of a list that have arrived. Only the thread that waits for the lists reads them.
  void keep(std::size_t i, RankedList so_far) {
    if (has_left_) return;
    tidy(so_far);
    slots_[i].so_far = std::move(so_far);
  }

  void tidy(RankedList& list) const {
    apply_hostnames(list, shared_->options.hostnames);
    keep_best_of_each(list, options_.depth, shared_->options.tracking);
  }

  /// An empty answer tells nothing about how long the engine needs to find something.
  void note_time(EngineState& state, const FetchedList& list) const {
    const std::lock_guard lock(state.mutex);
    if (!list.list.hits.empty()) state.learned_wait.add(options_.sender, list.elapsed);
  }

  void note_overdue(Slot& slot, bool is_certain) const {
    if (slot.has_answered) return;
    slot.is_overdue = true;
    const std::lock_guard lock(slot.choice.asked->mutex);
    slot.choice.asked->overdue.add(options_.sender, shared_->clock->now(), is_certain);
  }

  void forget_overdue(Slot& slot) const {
    if (!slot.is_overdue) return;
    slot.is_overdue = false;
    const std::lock_guard lock(slot.choice.asked->mutex);
    slot.choice.asked->overdue.remove(options_.sender);
  }

  bool is_complete() {
    const std::lock_guard lock(mutex_);
    return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_done; });
  }

  TimePoint next_moment() {
    const std::lock_guard lock(mutex_);
    TimePoint next = patience_.end_of_wait(shared_->clock->now());
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (const auto hedge_at = patience_.hedge_at(i)) next = std::min(next, *hedge_at);
    return next;
  }

  /// An engine that exceeded its usual time or its own time-out is left alone until it answers. If only the
  /// caller's deadline was short, that says nothing about the engine.
  void give_up_overdue() {
    const TimePoint now = shared_->clock->now();
    {
      const std::lock_guard lock(mutex_);
      if (now < patience_.end_of_wait(now)) return;
    }
    if (!is_complete()) keep_for_next(now);
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i].is_done) give_up(i, now);
  }

  /// Keeps the lists that are there beside the late ones. An answer without a list is not cached, so the next
  /// search for it should ask for nothing twice.
  void keep_for_next(TimePoint now) {
    const std::lock_guard lock(mutex_);
    for (const Slot& slot : slots_)
      if (slot.is_whole && !slot.fetched.list.hits.empty())
        shared_->late.put(late_key(slot.fetched.query, options_), slot.fetched.list, now);
  }

  void give_up(std::size_t i, TimePoint now) {
    Slot& slot = slots_[i];
    const bool is_learned = patience_.is_limited_by_usual(i);
    const bool is_certain = now - start_ >= engine_timeout(slot.state->engine);
    if (slot.state->http && (is_learned || is_certain)) note_overdue(slot, is_certain);
    slot.fetched.elapsed = now - start_;
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_).count();
    const bool has_pages = !slot.so_far.hits.empty();
    if (has_pages) slot.fetched.list = std::move(slot.so_far);
    slot.fetched.lacks_pages = has_pages;
    slot.fetched.is_left_early = is_learned && !is_certain;
    settle(i, has_pages ? Failure::none : Failure::timeout,
           fmt::format("no {} within {} ms, {}", has_pages ? "further page" : "answer", waited,
                       is_learned ? "longer than it usually takes" : "the deadline of the search"));
  }

  std::shared_ptr<FetcherState> shared_;
  const FetchOptions options_;
  const OnList on_list_;
  TimePoint start_;
  Mailbox mailbox_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  Patience patience_;
  bool has_ended_ = false;
  std::atomic<bool> has_left_ = false;
};

EngineFetcher::~EngineFetcher() {
  shared_->is_ending = true;
  workers_.reset();
  shared_->late_work.stop();  // its work uses the transport
  // From here on nothing arrives but tokens, which the next fetcher may need; callbacks that wait for a
  // vector keep `shared_` alive.
  wires_.transport.reset();
  shared_->embedder->forget_waiting();
}

std::vector<FetchedList> EngineFetcher::fetch(std::span<const ExpandedQuery> queries,
                                              const FetchOptions& options,
                                              const std::function<void(const FetchedList&)>& on_list) {
  return std::make_shared<Round>(*this, queries, options, on_list)->run(*this);
}

void EngineFetcher::prepare(std::string_view engine) {
  if (EngineState* state = shared_->find(engine); state != nullptr && state->embedded)
    state->embedded->prepare();
}

std::vector<Passage> EngineFetcher::passages(std::string_view engine, std::string_view words,
                                             std::span<const Hit* const> hits, const Deadline& deadline) {
  EngineState* state = shared_->find(engine);
  if (state == nullptr || !state->embedded) return {};
  return state->embedded->passages(words, hits, deadline);
}

}  // namespace metafuse::fetchers
