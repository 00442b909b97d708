#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/algorithm/string/split.hpp>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/deadline.h"
#include "core/name_lookup.h"
#include "service/store/postgres_session.h"

namespace metafuse::service {
namespace {

using detail::Health;
using detail::PostgresSession;
using detail::Waiting;
using std::chrono::milliseconds;

constexpr std::size_t kConnections = 4;
constexpr milliseconds kRest{1000};
constexpr int kTimeoutsBeforeRest = 3;  ///< in a row, because a single one may be a slow statement

/// Default parameters for libpq, which the URL may override. With them the kernel ends a connection whose
/// peer is gone.
constexpr std::pair<const char*, const char*> kParameters[] = {
    {"keepalives", "1"},         {"keepalives_idle", "10"},    {"keepalives_interval", "3"},
    {"keepalives_count", "3"},   {"tcp_user_timeout", "5000"}, {"application_name", "metafuse"},
    {"client_encoding", "UTF8"},
};

/// One host of the URL, with name and port as written there.
struct PostgresHost {
  std::string host;
  std::string port;
  std::unique_ptr<NameLookup> lookup;  ///< nullptr for the folder of a Unix socket
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> out;
  return boost::split(out, text, [](char c) { return c == ','; });
}

class PostgresDatabase final : public SqlDatabase {
 public:
  Result<void> read_url(const std::string& url) {
    char* problem = nullptr;
    PQconninfoOption* options = PQconninfoParse(url.c_str(), &problem);
    if (options == nullptr) {
      PQfreemem(problem);  // the message repeats the URL with its password
      return fail(Code::bad_config,
                  "the store's URL is not a PostgreSQL URL; write postgresql://USER@HOST/NAME");
    }
    for (const auto& [name, value] : kParameters) parameters_.emplace_back(name, value);
    std::map<std::string, std::string> given;
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option)
      if (option->val != nullptr) given[option->keyword] = option->val;
    PQconninfoFree(options);
    if (given.contains("host") && !given.contains("hostaddr")) {
      const auto ports = split_at_commas(given["port"]);
      for (const std::string& host : split_at_commas(given["host"])) {
        const std::size_t i = hosts_.size();
        PostgresHost& out = hosts_.emplace_back();
        out.host = host;
        out.port = ports[i < ports.size() ? i : 0];
        if (!host.empty() && host[0] != '/' && host[0] != '@')
          out.lookup = std::make_unique<NameLookup>(host);
      }
      given.erase("host");
      given.erase("port");
    }
    for (auto& parameter : given) parameters_.push_back(std::move(parameter));
    return {};
  }

  Result<void> write(const Transaction& work, Wait wait) override { return transact(work, wait); }
  Result<void> read(const Transaction& work, Wait wait) override { return transact(work, wait); }
  std::string_view milliseconds_now() const override {
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";
  }
  std::unique_ptr<Listener> listen(std::string_view channel, std::function<void()> on_notice) override;

  Result<void> check() override {
    return transact([](SqlSession& session) { return session.run("SELECT 1"); }, Patience::background);
  }
  std::string trouble() const override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }
  void hurry() override { is_hurrying_ = true; }

  /// Opens a connection outside of the pool.
  Result<std::unique_ptr<PostgresSession>> connect(const Waiting& waiting) {
    auto session = std::make_unique<PostgresSession>();
    TRY_VOID(open(*session, waiting));
    return session;
  }
  const std::atomic<bool>& is_hurrying() const { return is_hurrying_; }

 private:
  /// Runs a transaction. It is tried a second time only if the connection broke while it was idle in
  /// the pool, or if the server rolled it back because of another one.
  Result<void> transact(const Transaction& work, const Wait& wait) {
    if (Waiting::now() >= wait.end)
      return fail(Code::try_again, "no time was left for PostgreSQL");  // not a failure of the server
    const Waiting waiting(wait, is_hurrying_);
    for (bool is_second = false;; is_second = true) {
      TRY(auto session, borrow(waiting));
      const bool is_new = session == nullptr;
      bool is_committing = false;
      Result<void> done;
      if (is_new) {
        session = std::make_unique<PostgresSession>();
        done = open(*session, waiting);
      }
      try {
        if (done) done = session->transact(work, waiting, is_committing);
      } catch (...) {
        give_back(nullptr);
        throw;
      }
      const bool is_open = session->is_open();
      const Health health = is_open ? session->health() : std::max(session->health(), Health::broken);
      if (health == Health::sound) {
        const bool is_tried_again = !done && session->has_given_way() && !is_second;
        give_back(std::move(session));
        if (is_tried_again) continue;
        return done;
      }
      give_back(nullptr);
      forget_connections();
      if (health == Health::broken && !is_new && !is_second && !is_committing) continue;
      note_failure(health, is_new, done.error().text);
      if (is_committing)
        return fail(Code::unavailable,
                    done.error().text + " (during a commit: the change may have been made)");
      return done;
    }
  }

  Result<void> open(PostgresSession& session, const Waiting& waiting) {
    auto parameters = parameters_;
    std::string hosts;
    std::string addresses;
    std::string ports;
    const auto add = [&](const PostgresHost& host, const std::string& address) {
      const char* comma = hosts.empty() ? "" : ",";
      hosts += comma + host.host;
      addresses += comma + address;
      ports += comma + host.port;
    };
    const std::size_t first = first_host_;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const PostgresHost& host = hosts_[(first + i) % hosts_.size()];
      if (host.lookup == nullptr) {
        add(host, "");
        continue;
      }
      for (const std::string& address : host.lookup->addresses(waiting.connect_end() - Waiting::now()))
        add(host, address);
    }
    if (!hosts_.empty()) {
      if (hosts.empty()) return session.has_no_address();
      parameters.emplace_back("host", hosts);
      if (addresses.find_first_not_of(',') != std::string::npos)
        parameters.emplace_back("hostaddr", addresses);
      if (ports.find_first_not_of(',') != std::string::npos) parameters.emplace_back("port", ports);
    }
    const auto opened = session.open(parameters, waiting);
    // libpq spends our whole time limit on the first host, so start with another one next time
    if (!opened && session.health() == Health::late) first_host_ = first + 1;
    return opened;
  }

  /// Takes a free connection; nullptr if a new one may be made. Waits while all are in use.
  Result<std::unique_ptr<PostgresSession>> borrow(const Waiting& waiting) {
    std::unique_lock lock(mutex_);
    if (resting_until_ && Waiting::now() < *resting_until_)
      return fail(Code::unavailable, "PostgreSQL did not answer and is not asked again for a second");
    if (!is_free_.wait_until(lock, waiting.statement_end(), [&] { return in_use_ < kConnections; }))
      return fail(Code::try_again, "all connections to PostgreSQL are busy");
    ++in_use_;
    if (free_.empty()) return std::unique_ptr<PostgresSession>();
    auto session = std::move(free_.back());
    free_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<PostgresSession> session) {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (session != nullptr) {
      free_.push_back(std::move(session));
      trouble_.clear();
      resting_until_.reset();
      timeouts_ = 0;
    }
    is_free_.notify_one();
  }

  void forget_connections() {
    const std::lock_guard lock(mutex_);
    free_.clear();
  }

  void note_failure(Health health, bool is_new, const std::string& text) {
    const std::lock_guard lock(mutex_);
    trouble_ = text;
    // a connection that is refused immediately costs no time, so it needs no rest
    if (health == Health::late && (is_new || ++timeouts_ >= kTimeoutsBeforeRest))
      resting_until_ = Waiting::now() + kRest;
  }

  std::vector<std::pair<std::string, std::string>> parameters_;
  std::vector<PostgresHost> hosts_;
  std::atomic<std::size_t> first_host_{0};
  std::atomic<bool> is_hurrying_{false};
  mutable std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<PostgresSession>> free_;
  std::size_t in_use_ = 0;
  int timeouts_ = 0;
  std::string trouble_;
  std::optional<TimePoint> resting_until_;
};

/// Listens for notifications on a connection of its own. When the connection breaks it is re-established, and
/// the callback is called, because notifications may have been missed.
class PostgresListener final : public Listener {
 public:
  PostgresListener(PostgresDatabase& database, std::string_view channel, std::function<void()> on_notice)
      : database_(database),
        channel_(channel),
        on_notice_(std::move(on_notice)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this] { listen_until_stopped(); }) {}
  PostgresListener(const PostgresListener&) = delete;
  PostgresListener& operator=(const PostgresListener&) = delete;
  ~PostgresListener() override {
    is_stopping_ = true;
    static_cast<void>(::eventfd_write(stop_, 1));
    thread_.join();
    ::close(stop_);
  }

  bool is_listening() const override { return is_listening_; }

 private:
  void listen_until_stopped() {
    while (!is_stopping_) {
      const Waiting waiting(Wait(Patience::background), database_.is_hurrying());
      auto session = database_.connect(waiting);
      if (session && (*session)->subscribe(channel_, waiting)) {
        is_listening_ = true;
        on_notice_();
        take_until_broken(**session);
        is_listening_ = false;
      }
      wait_for_news(-1, kRest);
    }
  }

  void take_until_broken(PostgresSession& session) {
    while (!is_stopping_) {
      wait_for_news(session.socket(), kLongestSilence);
      const auto is_told = session.take_notices();
      if (!is_told) return;
      if (*is_told) on_notice_();
    }
  }

  /// Waits until bytes arrive, the listener is stopped, or the time is over.
  void wait_for_news(int socket, milliseconds longest) const {
    pollfd ready[] = {{stop_, POLLIN, 0}, {socket, POLLIN, 0}};
    static_cast<void>(::poll(ready, 2, static_cast<int>(longest.count())));
  }

  static constexpr milliseconds kLongestSilence{60000};

  PostgresDatabase& database_;
  const std::string channel_;
  const std::function<void()> on_notice_;
  const int stop_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_listening_{false};
  std::thread thread_;
};

std::unique_ptr<Listener> PostgresDatabase::listen(std::string_view channel,
                                                   std::function<void()> on_notice) {
  return std::make_unique<PostgresListener>(*this, channel, std::move(on_notice));
}

}  // namespace

Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url) {
  auto database = std::make_unique<PostgresDatabase>();
  TRY_VOID(database->read_url(url));
  TRY_VOID(database->check());
  return std::unique_ptr<SqlDatabase>(std::move(database));
}

}  // namespace metafuse::service
