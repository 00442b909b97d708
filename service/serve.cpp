#include "service/serve.h"

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include <malloc.h>

#include "service/app.h"
#include "service/base/start_memory.h"
#include "service/http/server.h"

namespace metafuse::service {
namespace {

constexpr auto kDrainBeforeClosing = std::chrono::milliseconds(500);
constexpr int kHeaps = 4;
constexpr auto kBetweenTrims = std::chrono::seconds(20);
constexpr auto kDrainPatience = std::chrono::seconds(30);

/// Set once by a signal, waited for by the main thread.
class Stop {
 public:
  void request() {
    {
      const std::lock_guard lock(mutex_);
      is_requested_ = true;
    }
    changed_.notify_all();
  }
  /// out: whether it was requested by then
  bool wait(Duration longest) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest, [this] { return is_requested_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_requested_ = false;
};

std::string address_text(const ServerConfig& config, std::uint16_t port) {
  const bool is_v6 = config.listen_host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + config.listen_host + "]" : config.listen_host) + ":" +
         std::to_string(port);
}

/// Answers go on while balancers notice that /readyz fails; then the listener closes and what is open ends.
void drain(App& app, HttpServer& server) {
  app.log().write(Log::Level::info, "draining");
  app.operations().start_draining();
  server.start_draining();
  std::this_thread::sleep_for(kDrainBeforeClosing);
  server.stop(kDrainPatience);
  app.stop();
  app.log().write(Log::Level::info, "stopped");
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  // by default every thread may get a heap of its own, and each keeps what was once freed into it
  ::mallopt(M_ARENA_MAX, kHeaps);
  static const SteadyClock clock;
  TRY(auto app, App::create({options.config, options.load_engines, options.reread, &clock, {}}));
  if (options.on_warning)
    for (const std::string& warning : app->reloader().snapshot()->warnings) options.on_warning(warning);
  HttpServerOptions http;
  http.host = options.config.listen_host;
  http.port = options.config.port;
  http.limits = options.config.limits;
  App& running = *app;
  auto server =
      HttpServer::start(http, [&running](HttpRequest request, std::shared_ptr<Responder> responder) {
        running.handle(std::move(request), std::move(responder));
      });
  if (!server) return server.error();
  running.operations().attach({[&server](const LimitsConfig& limits) { (*server)->set_limits(limits); },
                               [&server] { return (*server)->counts(); }});
  Stop stop;
  (*server)->on_signal([&](int signal) {
    if (signal != SIGHUP) return stop.request();
    running.reloader().reload_soon();
  });
  if (options.on_ready) options.on_ready(address_text(options.config, (*server)->port()));
  forget_start_pages();
  // what a crowd left free inside the heaps goes back to the system
  while (!stop.wait(kBetweenTrims)) ::malloc_trim(0);
  drain(running, **server);
  running.operations().attach({});
  return {};
}

}  // namespace metafuse::service
