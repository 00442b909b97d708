#include "service/serve.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "service/app.h"
#include "service/base/dates.h"
#include "service/base/log.h"
#include "service/base/process.h"
#include "service/http/server.h"

namespace metafuse::service {
namespace {

constexpr auto kDrainBeforeClosing = std::chrono::milliseconds(500);
/// How long before the end of the drain time the requests under way are given up, so that the rest can end.
constexpr auto kToEnd = std::chrono::milliseconds(500);

/// A flag that is set once; one thread waits for it.
class Flag {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      is_set_ = true;
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }
  /// out: whether it was set by then
  bool wait(Duration longest) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

/// Ends the process when it has not ended by itself in time, so that an unanswering database, an engine's
/// program or a training cannot keep it alive. What was acknowledged is stored already; answers still under
/// way are cut off, and the log says so.
class LastResort {
 public:
  LastResort() = default;
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;
  ~LastResort() {
    is_needless_.set();
    if (thread_.joinable()) thread_.join();
  }
  void arm(Duration after) {
    thread_ = std::thread([this, after] {
      if (is_needless_.wait(after)) return;
      // the app and its log may have gone, and the end of this one waits until the line is written
      Log().write(Log::Level::warning, "stopped late", {{"reason", "work under way did not end in time"}});
      std::_Exit(EXIT_SUCCESS);
    });
  }

 private:
  Flag is_needless_;
  std::thread thread_;
};

std::string address_text(const ServerConfig& config, std::uint16_t port) {
  const bool is_v6 = config.listen_host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("http://[{}]:{}", config.listen_host, port)
               : fmt::format("http://{}:{}", config.listen_host, port);
}

/// Goes on answering while load balancers notice that /readyz fails, then closes the listener and ends
/// what is still open.
void drain(App& app, HttpServer& server, LastResort& last_resort) {
  const double seconds = app.reloader().snapshot()->config.limits.drain_seconds;
  const Duration longest = duration_of(seconds);
  last_resort.arm(longest);
  app.log().write(Log::Level::info, "draining", {{"seconds_at_most", seconds}});
  app.operations().start_draining();
  server.start_draining();
  const Duration notice = std::min<Duration>(kDrainBeforeClosing, longest / 4);
  std::this_thread::sleep_for(notice);
  server.stop(std::max<Duration>(longest - notice - kToEnd, longest / 4));
  app.stop();
  app.log().write(Log::Level::info, "stopped");
}

Result<std::unique_ptr<App>> started(const AppSource& source) {
  const Clock& clock = machine_clock();
  TRY(auto app, App::create({source, &clock, {}}));
  if (source.on_warning)
    for (const std::string& warning : app->reloader().snapshot()->warnings) source.on_warning(warning);
  return app;
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  LastResort last_resort;  // until everything below has gone
  TRY(auto app, started(options));
  HttpServerOptions http;
  http.host = options.config.listen_host;
  http.port = options.config.port;
  http.limits = options.config.limits;
  http.trusted_proxies = options.config.trusted_proxies;
  App& running = *app;
  http.refuse = [&running](HttpRequest request, const Refusal& refusal) {
    return running.refused(std::move(request), refusal);
  };
  TRY(auto server,
      HttpServer::start(http, [&running](HttpRequest request, std::shared_ptr<Responder> responder) {
        running.handle(std::move(request), std::move(responder));
      }));
  running.operations().attach({[&server](const LimitsConfig& limits) { server->set_limits(limits); },
                               [&server] { return server->counts(); }});
  Flag stop;
  server->on_signal([&](int signal) {
    if (signal != SIGHUP) return stop.set();
    running.reloader().reload_soon();
  });
  if (options.on_ready) options.on_ready(address_text(options.config, server->port()));
  forget_start_pages();
  stop.wait();
  drain(running, *server, last_resort);
  running.operations().attach({});
  return {};
}

Result<void> serve_stdio(const AppSource& source, const StdioEnds& ends) {
  AppSource storeless = source;
  storeless.config.store.clear();
  storeless.reread = [&source]() -> Result<ServerConfig> {
    TRY(auto again, source.reread());
    again.store.clear();
    return again;
  };
  TRY(const auto app, started(storeless));
  auto outcome = answer_stdio(
      [&app](HttpRequest request, std::shared_ptr<Responder> responder) {
        app->handle(std::move(request), std::move(responder));
      },
      ends);
  app->stop();
  return outcome;
}

}  // namespace metafuse::service
