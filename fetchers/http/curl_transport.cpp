#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include <curl/curl.h>
#include <signal.h>

#include "core/contract.h"
#include "fetchers/http/curl_transfer.h"
#include "fetchers/http/sender_turns.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

std::string_view HttpAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

namespace {

// Enough for eight concurrent searches of sixteen engines each.
constexpr long kMaxKeptConnections = 128;
constexpr std::size_t kMaxIdleHandles = 128;
constexpr std::size_t kMaxWaiting = 4096;  // of one sender, for one engine
constexpr auto kLongestSleep = std::chrono::seconds(10);

using Transfer = std::shared_ptr<CurlTransfer>;

struct ShareCleanup {
  void operator()(CURLSH* share) const { curl_share_cleanup(share); }
};

/// The requests of one engine. All handles of an engine share its TLS sessions, so that a new connection
/// resumes one. Without sharing, libcurl would keep sessions per handle, and only a few for all hosts.
struct Lane {
  SenderTurns<Transfer> turns;
  int connections = 1;
  TimePoint next_start{};
  std::unique_ptr<CURLSH, ShareCleanup> sessions;
  std::vector<CURL*> idle;
};

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(AddressGuard guard) : guard_(std::move(guard)) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_ = curl_multi_init();
    require(multi_ != nullptr, "libcurl has memory");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxKeptConnections);
    thread_ = std::thread([this] { run(); });
  }

  ~CurlTransport() override {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    own_turn_.notify_one();
    thread_.join();
    for (const Transfer& transfer : active_) {
      curl_multi_remove_handle(multi_, transfer->handle());
      curl_easy_cleanup(transfer->handle());
    }
    for (auto& [engine, lane] : lanes_)
      for (CURL* handle : lane.idle) curl_easy_cleanup(handle);
    curl_multi_cleanup(multi_);
  }

  void send(EngineRequest request, Done done) override {
    auto transfer = std::make_shared<CurlTransfer>(std::move(request), std::move(done), guard_, now());
    bool wakes_poll = false;
    bool wakes_thread = false;
    {
      const std::lock_guard lock(mutex_);
      wakes_poll =
          is_polling_ && arrived_.empty();  // the worker drains the queue: only the first sender wakes it
      arrived_.push_back(std::move(transfer));
      const bool is_by_other = waiting_thread_ != std::this_thread::get_id();
      const bool is_left_alone = worker_ == Worker::away && is_by_other;
      if (worker_ == Worker::waiting_thread && is_by_other) others_depend_ = true;
      wakes_thread = worker_ == Worker::nobody || is_left_alone;
      if (wakes_thread) worker_ = Worker::own_thread;
    }
    if (wakes_poll) curl_multi_wakeup(multi_);
    if (wakes_thread) own_turn_.notify_one();
  }

  bool begin_wait(bool may_work) override {
    const std::lock_guard lock(mutex_);
    const bool is_alone = ++waiting_threads_ == 1;
    if (!may_work || !is_alone || worker_ != Worker::nobody) return false;
    worker_ = Worker::waiting_thread;
    waiting_thread_ = std::this_thread::get_id();
    others_depend_ = false;
    return true;
  }

  bool work(TimePoint until, const std::function<bool()>& has_news) override {
    const BlockedPipeSignal blocked;
    std::unique_lock lock(mutex_);
    if (worker_ == Worker::away) worker_ = Worker::waiting_thread;
    if (worker_ != Worker::waiting_thread) return false;
    while (true) {
      pass(lock);
      if (waiting_threads_ > 1 || others_depend_)
        break;  // what it does with an answer may take long, and the other answers must not wait for it
      if (has_news() || now() >= until) {
        worker_ = Worker::away;
        return true;
      }
      poll(lock, until);
    }
    hand_over(lock);
    return false;
  }

  void end_wait(bool is_working) override {
    std::unique_lock lock(mutex_);
    --waiting_threads_;
    if (is_working && (worker_ == Worker::waiting_thread || worker_ == Worker::away)) hand_over(lock);
  }

 private:
  /// Which thread drives the multi handle; only that thread may touch what belongs to it. A waiting thread is
  /// away while it reads the answers that it got: if another thread sends then, the own thread takes over.
  enum class Worker { nobody, own_thread, waiting_thread, away };

  /// Blocks SIGPIPE in the worker: writing to a TLS connection that the peer has closed raises it, and with
  /// CURLOPT_NOSIGNAL libcurl leaves it to the caller.
  class BlockedPipeSignal {
   public:
    BlockedPipeSignal() {
      sigemptyset(&pipe_signal_);
      sigaddset(&pipe_signal_, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe_signal_, &before_);
    }
    BlockedPipeSignal(const BlockedPipeSignal&) = delete;
    BlockedPipeSignal& operator=(const BlockedPipeSignal&) = delete;
    ~BlockedPipeSignal() {
      if (sigismember(&before_, SIGPIPE) == 1) return;
      const timespec at_once{};
      while (sigtimedwait(&pipe_signal_, nullptr, &at_once) == SIGPIPE) {
      }
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

   private:
    sigset_t pipe_signal_;
    sigset_t before_;
  };

  static TimePoint now() { return std::chrono::steady_clock::now(); }

  void run() {
    const BlockedPipeSignal blocked;
    std::unique_lock lock(mutex_);
    while (true) {
      own_turn_.wait(lock, [this] { return is_stopping_ || worker_ == Worker::own_thread; });
      while (!is_stopping_) {
        pass(lock);
        if (!has_work()) break;
        poll(lock, now() + kLongestSleep);
      }
      if (is_stopping_) return;
      worker_ = Worker::nobody;
    }
  }

  /// Hands the work, with the requests under way, to another thread.
  void hand_over(std::unique_lock<std::mutex>& lock) {
    worker_ = has_work() ? Worker::own_thread : Worker::nobody;
    const bool is_next = worker_ == Worker::own_thread;
    lock.unlock();
    if (is_next) own_turn_.notify_one();
  }

  /// Requires the lock; called by the worker only.
  bool has_work() const {
    return !arrived_.empty() || !active_.empty() ||
           std::any_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane.second.turns.has_waiting(); });
  }

  /// Starts new requests, moves data, and ends requests that are done or late. Releases the lock meanwhile;
  /// it is held on entry and on return.
  void pass(std::unique_lock<std::mutex>& lock) {
    std::vector<Transfer> arrived;
    arrived.swap(arrived_);
    lock.unlock();
    take_arrived(arrived);
    int running = 0;
    curl_multi_perform(multi_, &running);
    take_finished();
    end_overdue();
    start_waiting();
    lock.lock();
  }

  /// Waits for the sockets, unless new requests have arrived.
  void poll(std::unique_lock<std::mutex>& lock, TimePoint until) {
    if (!arrived_.empty() || is_stopping_) return;
    is_polling_ = true;
    lock.unlock();
    curl_multi_poll(multi_, nullptr, 0, sleep_milliseconds(until), nullptr);
    lock.lock();
    is_polling_ = false;
  }

  void take_arrived(std::vector<Transfer>& arrived) {
    for (Transfer& transfer : arrived) {
      Lane& lane = lanes_[transfer->request().engine];
      lane.connections = transfer->request().max_connections;
      const std::string& sender = transfer->request().sender;
      if (lane.turns.waiting_of(sender) >= kMaxWaiting)
        transfer->finish(Failure::rate_limited, "too many requests wait for this engine", now());
      else
        lane.turns.push(sender, transfer, now());
    }
    if (!arrived.empty()) start_waiting();
  }

  void start_waiting() {
    for (auto& [engine, lane] : lanes_) {
      while (true) {
        const TimePoint moment = now();
        if (lane.next_start > moment) break;
        std::optional<Transfer> next = lane.turns.take(lane.connections, moment);
        if (!next) break;
        if (const double rate = (*next)->request().requests_per_second; rate > 0)
          lane.next_start =
              moment + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
        start(lane, std::move(*next));
      }
    }
  }

  void start(Lane& lane, Transfer transfer) {
    CURL* handle = take_handle(lane);
    if (!transfer->prepare(handle, now())) {
      lane.turns.end(transfer->request().sender);
      give_back(lane, handle, true);
      return transfer->finish(CURLE_OK, now());
    }
    curl_multi_add_handle(multi_, handle);
    active_.push_back(std::move(transfer));
  }

  CURL* take_handle(Lane& lane) {
    if (!lane.idle.empty()) {
      CURL* handle = lane.idle.back();
      lane.idle.pop_back();
      return handle;
    }
    CURL* handle = curl_easy_init();
    require(handle != nullptr, "libcurl has memory");
    if (lane.sessions == nullptr) {
      lane.sessions.reset(curl_share_init());
      curl_share_setopt(lane.sessions.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    }
    curl_easy_setopt(handle, CURLOPT_SHARE, lane.sessions.get());
    CurlTransfer::set_common_options(handle);
    return handle;
  }

  void give_back(Lane& lane, CURL* handle, bool has_traces) {
    const auto add_idle = [](std::size_t sum, const auto& one) { return sum + one.second.idle.size(); };
    if (std::accumulate(lanes_.begin(), lanes_.end(), std::size_t{0}, add_idle) >= kMaxIdleHandles)
      return curl_easy_cleanup(handle);
    if (has_traces) {
      curl_easy_reset(handle);
      CurlTransfer::set_common_options(handle);
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, nullptr);
    lane.idle.push_back(handle);
  }

  void take_finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* handle = message->easy_handle;
      const CURLcode status = message->data.result;
      const auto found = std::find_if(active_.begin(), active_.end(),
                                      [&](const Transfer& transfer) { return transfer->handle() == handle; });
      require(found != active_.end(), "a transfer of ours");
      curl_multi_remove_handle(multi_, handle);
      if (status == CURLE_OK && (*found)->take_redirect() && (*found)->prepare(handle, now())) {
        curl_multi_add_handle(multi_, handle);
        continue;
      }
      (*found)->note_proxy();
      end(found, [&](CurlTransfer& transfer) { transfer.finish(status, now()); });
    }
  }

  template <class Finish>
  void end(std::list<Transfer>::iterator found, const Finish& finish) {
    const Transfer transfer = std::move(*found);
    active_.erase(found);
    Lane& lane = lanes_[transfer->request().engine];
    lane.turns.end(transfer->request().sender);
    give_back(lane, transfer->handle(), transfer->leaves_traces());
    finish(*transfer);
  }

  /// libcurl enforces the total and the connect timeout; the first-byte timeout and the time spent waiting
  /// for a connection or for the engine's rate are checked here.
  void end_overdue() {
    const TimePoint moment = now();
    for (auto at = active_.begin(); at != active_.end();) {
      const auto here = at++;
      if (!(*here)->is_overdue(moment)) continue;
      curl_multi_remove_handle(multi_, (*here)->handle());
      end(here, [&](CurlTransfer& transfer) { transfer.finish(CURLE_OPERATION_TIMEDOUT, moment); });
    }
    for (auto& [engine, lane] : lanes_)
      for (const Transfer& late :
           lane.turns.take_late([&](const Transfer& transfer) { return transfer->is_overdue(moment); }))
        late->finish(Failure::rate_limited,
                     "the engine's max_connections or requests_per_second left no room in time", moment);
  }

  int sleep_milliseconds(TimePoint wake) {
    for (const Transfer& transfer : active_) wake = std::min(wake, transfer->next_limit());
    for (auto& [engine, lane] : lanes_) {
      for (const Transfer* first : lane.turns.first_of_each()) wake = std::min(wake, (*first)->next_limit());
      const TimePoint turn = lane.turns.next_turn(lane.connections, now());
      wake = std::min(wake, std::max(turn, lane.next_start));
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - now()).count();
    return static_cast<int>(std::max<long>(0, static_cast<long>(left)));
  }

  const AddressGuard guard_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::condition_variable own_turn_;
  std::vector<Transfer> arrived_;
  Worker worker_ = Worker::nobody;
  std::thread::id waiting_thread_;
  bool others_depend_ = false;  ///< on the waiting thread, because they sent something while it worked
  int waiting_threads_ = 0;
  bool is_polling_ = false;
  bool is_stopping_ = false;
  // The members below belong to the worker.
  std::map<std::string, Lane> lanes_;
  std::list<Transfer> active_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport(AddressGuard guard) {
  return std::make_unique<CurlTransport>(std::move(guard));
}

}  // namespace metafuse::fetchers
