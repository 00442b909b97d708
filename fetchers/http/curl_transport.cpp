#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <curl/curl.h>
#include <signal.h>

#include "core/contract.h"
#include "fetchers/http/curl_transfer.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

std::string_view HttpAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

namespace {

constexpr long kMaxKeptConnections = 64;
constexpr std::size_t kMaxIdleHandles = 64;
constexpr std::size_t kMaxWaiting = 4096;
constexpr auto kLongestSleep = std::chrono::seconds(10);

using Transfer = std::shared_ptr<CurlTransfer>;

/// The requests of one engine: how many are under way, and who waits for a place.
struct Lane {
  int under_way = 0;
  TimePoint next_start{};
  std::deque<Transfer> waiting;
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
    thread_.join();
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
    curl_multi_cleanup(multi_);
  }

  void send(HttpRequest request, Done done) override {
    auto transfer = std::make_shared<CurlTransfer>(std::move(request), std::move(done), guard_, now());
    bool is_first = false;  // who takes one takes all
    {
      const std::lock_guard lock(mutex_);
      is_first = arrived_.empty();
      arrived_.push_back(std::move(transfer));
    }
    if (is_first) curl_multi_wakeup(multi_);
  }

 private:
  static TimePoint now() { return std::chrono::steady_clock::now(); }

  /// A TLS connection that its peer closed raises SIGPIPE at this thread when it is written to: kept from it,
  /// because without signals of its own (CURLOPT_NOSIGNAL) libcurl leaves that to us.
  static void block_pipe_signal() {
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  }

  void run() {
    block_pipe_signal();
    while (take_arrived()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      take_finished();
      end_overdue();
      start_waiting();
      curl_multi_poll(multi_, nullptr, 0, sleep_milliseconds(), nullptr);
    }
    for (const Transfer& transfer : active_) {
      curl_multi_remove_handle(multi_, transfer->handle());
      curl_easy_cleanup(transfer->handle());
    }
  }

  /// False when the transport ends.
  bool take_arrived() {
    std::vector<Transfer> arrived;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return false;
      arrived.swap(arrived_);
    }
    for (Transfer& transfer : arrived) {
      Lane& lane = lanes_[transfer->request().engine];
      if (lane.waiting.size() >= kMaxWaiting)
        transfer->finish(Failure::rate_limited, "too many requests wait for this engine", now());
      else
        lane.waiting.push_back(std::move(transfer));
    }
    start_waiting();
    return true;
  }

  void start_waiting() {
    for (auto& [engine, lane] : lanes_) {
      while (!lane.waiting.empty()) {
        const HttpRequest& next = lane.waiting.front()->request();
        const TimePoint moment = now();
        if (lane.under_way >= next.max_connections || lane.next_start > moment) break;
        if (next.requests_per_second > 0)
          lane.next_start = moment + std::chrono::duration_cast<Duration>(
                                         std::chrono::duration<double>(1 / next.requests_per_second));
        Transfer transfer = std::move(lane.waiting.front());
        lane.waiting.pop_front();
        start(lane, std::move(transfer));
      }
    }
  }

  void start(Lane& lane, Transfer transfer) {
    CURL* handle = take_handle();
    if (!transfer->prepare(handle, now())) {
      give_back(handle, true);
      return transfer->finish(CURLE_OK, now());
    }
    ++lane.under_way;
    curl_multi_add_handle(multi_, handle);
    active_.push_back(std::move(transfer));
  }

  CURL* take_handle() {
    if (idle_.empty()) {
      CURL* handle = curl_easy_init();
      require(handle != nullptr, "libcurl has memory");
      CurlTransfer::set_common_options(handle);
      return handle;
    }
    CURL* handle = idle_.back();
    idle_.pop_back();
    return handle;
  }

  void give_back(CURL* handle, bool has_traces) {
    if (idle_.size() >= kMaxIdleHandles) return curl_easy_cleanup(handle);
    if (has_traces) {
      curl_easy_reset(handle);
      CurlTransfer::set_common_options(handle);
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, nullptr);
    idle_.push_back(handle);
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
      end(found, [&](CurlTransfer& transfer) { transfer.finish(status, now()); });
    }
  }

  template <class Finish>
  void end(std::list<Transfer>::iterator found, const Finish& finish) {
    const Transfer transfer = std::move(*found);
    active_.erase(found);
    --lanes_[transfer->request().engine].under_way;
    give_back(transfer->handle(), transfer->leaves_traces());
    finish(*transfer);
  }

  /// libcurl keeps the total and the connection's time; the first byte's and the waiting ones' are ours.
  void end_overdue() {
    const TimePoint moment = now();
    for (auto at = active_.begin(); at != active_.end();) {
      const auto here = at++;
      if (!(*here)->is_overdue(moment)) continue;
      curl_multi_remove_handle(multi_, (*here)->handle());
      end(here, [&](CurlTransfer& transfer) { transfer.finish(CURLE_OPERATION_TIMEDOUT, moment); });
    }
    for (auto& [engine, lane] : lanes_)
      while (!lane.waiting.empty() && lane.waiting.front()->is_overdue(moment)) {
        const Transfer transfer = std::move(lane.waiting.front());
        lane.waiting.pop_front();
        transfer->finish(Failure::rate_limited, "no place within the engine's own limits in time", moment);
      }
  }

  int sleep_milliseconds() const {
    TimePoint wake = now() + kLongestSleep;
    for (const Transfer& transfer : active_) wake = std::min(wake, transfer->next_limit());
    for (const auto& [engine, lane] : lanes_) {
      if (lane.waiting.empty()) continue;
      wake = std::min(wake, lane.waiting.front()->next_limit());
      if (lane.under_way < lane.waiting.front()->request().max_connections)
        wake = std::min(wake, lane.next_start);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - now()).count();
    return static_cast<int>(std::max<long>(0, static_cast<long>(left)));
  }

  const AddressGuard guard_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::vector<Transfer> arrived_;
  bool is_stopping_ = false;
  // The rest belongs to the thread.
  std::map<std::string, Lane> lanes_;
  std::list<Transfer> active_;
  std::vector<CURL*> idle_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport(AddressGuard guard) {
  return std::make_unique<CurlTransport>(std::move(guard));
}

}  // namespace metafuse::fetchers
