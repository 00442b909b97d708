#include "service/app.h"

#include <chrono>
#include <exception>
#include <random>
#include <string>
#include <utility>

#include "core/contract.h"
#include "core/digest.h"
#include "service/base/addresses.h"
#include "service/http/exchange.h"
#include "service/http/worker_pool.h"
#include "service/learning/decisions.h"
#include "service/learning/shown_searches.h"
#include "service/pages/errors.h"

namespace metafuse::service {
namespace {

/// Work that may hang with the store has its own threads, so that searches never wait for the store.
constexpr unsigned kStoreWorkers = 4;
constexpr QueueLimits kStoreQueue{32, std::chrono::milliseconds(300)};

/// Counts the keys' use in the store, so that the count outlives the process and several processes share it.
SharedUsage shared_usage(Store* store) {
  if (store == nullptr) return {};
  return
      [store](std::string_view key, std::int64_t day, std::uint64_t amount) -> std::optional<std::uint64_t> {
        const auto sum = store->shared.add_usage(key, day, amount);
        if (!sum) return std::nullopt;
        return *sum;
      };
}

}  // namespace

App::App(AppOptions options, std::shared_ptr<const Snapshot> snapshot, std::unique_ptr<Records> records,
         std::unique_ptr<Traces> traces)
    : clock_(*options.clock),
      telemetry_{{}, {}, std::move(traces)},
      records_(std::move(records)),
      gate_({options.config, telemetry_.metrics, clock_, records_->unix_time,
             shared_usage(records_->store.get())}),
      source_(options.config, clock_, telemetry_, suggester_),
      rendered_(rendered_bytes(options.config.cache), clock_),
      finder_(gate_, source_, *records_, telemetry_, clock_),
      readers_{PageReader(clock_), PictureReader(clock_, records_->secret)},
      pool_(worker_count(options.config), queue_limits(options.config.limits), clock_),
      store_pool_(kStoreWorkers, kStoreQueue, clock_),
      operations_({telemetry_, pool_, source_, rendered_, *records_}),
      others_(*records_, telemetry_, clock_),
      reloader_({options, [this](const Snapshot& loaded) { take_limits(loaded); },
                 others_.can_change_files() ? std::function<bool()>([this] { return others_.look(); })
                                            : std::function<bool()>(),
                 [this] { return others_.is_told(); }, telemetry_},
                std::move(snapshot)),
      documents_(document_options()),
      health_(health_options()) {
  readers_.configure(options.config);
  health_.open();
  health_.start();
  documents_.start();
  if (records_->store == nullptr) return;
  records_->search_log->set_on_drop([this](std::uint64_t dropped, const std::string& reason) {
    log().write(Log::Level::error, "searches not stored", {{"searches", dropped}, {"reason", reason}});
  });
  caretaker_ = std::make_unique<Caretaker>(care_options());
  records_->on_feedback = [this](const std::string& domain) { caretaker_->note_feedback(domain); };
  caretaker_->start();
  // Last, because the listener's thread must not outlive what it wakes if the construction fails.
  if (others_.can_change_files()) others_.listen([this] { reloader_.look_soon(); });
}

DocumentKeeperOptions App::document_options() {
  DocumentKeeperOptions out;
  out.snapshot = [this] { return reloader_.snapshot(); };
  out.on_changed = [this] {
    source_.clear();
    rendered_.clear();
  };
  out.on_failing = [this](std::size_t indexes) {
    telemetry_.metrics.set(kFailingIndexes, static_cast<double>(indexes));
  };
  out.on_settled = [this] { reloader_.reload_soon(); };
  out.on_event = [this](Log::Level level, std::string_view event, JsonObject fields) {
    log().write(level, event, std::move(fields));
  };
  return out;
}

HealthKeeperOptions App::health_options() {
  return {telemetry_.health, [this] { return reloader_.snapshot(); }, records_->unix_time,
          [this](std::string_view event, JsonObject fields) {
            log().write(Log::Level::warning, event, std::move(fields));
          },
          std::random_device()()};
}

CaretakerOptions App::care_options() {
  CaretakerOptions care;
  care.store = records_->store.get();
  care.versions = records_->model_versions.get();
  care.snapshot = [this] { return reloader_.snapshot(); };
  care.unix_time = records_->unix_time;
  care.has_duty = [this] { return others_.has_duty(); };
  care.on_asked = [this](const std::string& domain, std::vector<std::string> queries) {
    suggester_.set_asked(domain, std::move(queries));
  };
  care.on_look = [this](const std::string& domain) {
    static_cast<void>(records_->decisions->look(domain));  // after a failure, the next look tries again
  };
  care.on_models_changed = [this] { reloader_.reload_soon(); };
  care.on_event = [this](std::string_view event, JsonObject fields) {
    log().write(Log::Level::info, event, std::move(fields));
  };
  return care;
}

App::~App() {
  stop();
}

Result<std::unique_ptr<App>> App::create(AppOptions options) {
  require(options.clock != nullptr, "an App needs a clock");
  TRY(auto snapshot, load_snapshot(options.config, options.load_engines));
  TRY(auto records, open_records(*snapshot, options.unix_time));
  Mirror::Changes shared;
  if (records->mirror != nullptr) {
    // Files that cannot be written, as in a read-only configuration, are used as they are; others_ tells.
    auto step = records->mirror->step();
    if (!step && step.error().code != Code::no_input) return step.error();
    if (step) shared = std::move(*step);
    if (!shared.taken.empty()) {
      if (options.reread) {
        TRY(auto again, options.reread());  // the mirror may have brought keys
        options.config.keys = std::move(again.keys);
      }
      TRY(snapshot, load_snapshot(options.config, options.load_engines));
    }
  }
  std::unique_ptr<Traces> traces;
  if (const TracesConfig& wanted = options.config.traces; !wanted.url.empty()) {
    TRY(traces, Traces::open({.url = wanted.url, .server = random_hex(8)}));
  }
  std::unique_ptr<App> app(
      new App(std::move(options), std::move(snapshot), std::move(records), std::move(traces)));
  app->others_.note(shared);
  return app;
}

void App::Readers::configure(const ServerConfig& config) {
  pages.configure(config.pages);
  pictures.configure(config.pictures);
}

void App::take_limits(const Snapshot& snapshot) {
  const LimitsConfig& limits = snapshot.config.limits;
  if (records_->mirror != nullptr) records_->mirror->set_places(shared_places(snapshot));
  gate_.set_limits(snapshot.config);
  pool_.set_limits(queue_limits(limits));
  operations_.set_limits(limits);
  readers_.configure(snapshot.config);
  telemetry_.health.watch(snapshot.engines.watched);
  for (const auto& [name, domain] : snapshot.domains)  // they were made by the options of before
    if (records_->decisions != nullptr) records_->decisions->note(name);
  source_.clear();
  rendered_.clear();
}

void App::stop() {
  if (records_->store != nullptr) records_->store->hurry();
  if (caretaker_ != nullptr) caretaker_->stop();
  documents_.stop();
  health_.stop();
  reloader_.stop();
  others_.stop();
  readers_.pages.stop();
  pool_.stop();
  store_pool_.stop();
}

void App::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  const auto call = std::make_shared<Call>();
  call->responder = std::move(responder);
  Exchange& exchange = call->exchange;
  begin(exchange, std::move(request));
  guarded(*call, [&](Reply& reply) {
    Match match = match_route(exchange.request.method, exchange.request.path);
    call->route = match.route;
    exchange.path_values = std::move(match.values);
    exchange.route = match.route != nullptr ? match.route->name : "none";
    answer(call, match, reply);
  });
}

void App::begin(Exchange& exchange, HttpRequest request) const {
  exchange.request = std::move(request);
  exchange.preferences = read_preferences_cookie(exchange.request.header("Cookie"));
  exchange.snapshot = reloader_.snapshot();
  exchange.arrived = clock_.now();
}

HttpResponse App::refused(HttpRequest request, const Refusal& refusal) const {
  Exchange exchange;
  begin(exchange, std::move(request));
  note_sender(exchange);
  const Match match = match_route(exchange.request.method, exchange.request.path);
  HttpResponse response =
      error_response(error_dialect(match.route, exchange.request), refusal.status, refusal.reason, &exchange);
  add_common_headers(exchange, response);
  return response;
}

void App::answer(const std::shared_ptr<Call>& call, const Match& match, Reply& reply) {
  Exchange& exchange = call->exchange;
  const Dialect dialect = error_dialect(match.route, exchange.request);
  if (auto refusal = gate_.check(match.route != nullptr ? &match.route->rules : nullptr, exchange))
    return reply.send(refusal_response(dialect, *refusal, &exchange));
  if (match.route != nullptr) {
    if (!exchange.awaits_key)
      if (auto again = answer_again(exchange)) return reply.send(std::move(*again));
    return dispatch(call, reply);
  }
  const bool is_known = !match.allowed.empty();
  if (is_known)
    if (auto preflight = preflight_answer(exchange)) return reply.send(std::move(*preflight));
  HttpResponse response = error_response(
      dialect, is_known ? 405 : 404, is_known ? "no such method on this path" : "no such path", &exchange);
  if (is_known) response.set("Allow", match.allowed);
  reply.send(std::move(response));
}

std::optional<HttpResponse> App::answer_again(Exchange& exchange) {
  const Decisions* decisions = records_->decisions.get();
  const auto kept = rendered_.find(exchange, decisions == nullptr ? 0 : decisions->changes());
  if (kept == nullptr || !gate_.admit_at_once(exchange, kept->repeat->expanded_queries)) return std::nullopt;
  std::string search_id;
  // if the store cannot keep up, the id stays empty: the answer is sent, but cannot be clicked
  if (kept->repeat->search != nullptr && may_be_stored(exchange.request))
    search_id = stored_again(*records_, exchange, *kept->repeat->search);
  telemetry_.metrics.cache("rendered");
  telemetry_.metrics.search(kept->repeat->domain, kept->repeat->method);
  return repeated_response(*kept, exchange, std::move(search_id), clock_.now() - exchange.arrived);
}

void App::dispatch(const std::shared_ptr<Call>& call, Reply& reply) {
  if (call->route->where == Where::inline_thread) return run(*call, reply);
  if (call->route->handle_small != nullptr && !call->exchange.awaits_key)
    if (auto answered = call->route->handle_small(parts_for(*call, reply)))
      return send_found(call->exchange, std::move(*answered), reply);
  const auto too_busy = [this](const Call& late, Reply& to) {
    telemetry_.metrics.refused("overload");
    to.send(error_response(error_dialect(late.route, late.exchange.request), 503,
                           "too many requests are waiting; try again in a second", &late.exchange));
  };
  WorkerPool& pool = call->route->where == Where::store_worker ? store_pool_ : pool_;
  const bool is_taken =
      pool.try_run([this, call] { guarded(*call, [&](Reply& later) { run(*call, later); }); },
                   [this, call, too_busy] { guarded(*call, [&](Reply& later) { too_busy(*call, later); }); },
                   call->exchange.sender());
  if (!is_taken) too_busy(*call, reply);
}

void App::run(Call& call, Reply& reply) {
  const Dialect dialect = error_dialect(call.route, call.exchange.request);
  if (const auto refusal = gate_.check_key_in_body(call.route->rules, call.exchange))
    return reply.send(refusal_response(dialect, *refusal, &call.exchange));
  Answered answered = call.route->handle(parts_for(call, reply));
  if (reply.has_begun()) return reply.end();
  if (answered) return send_found(call.exchange, std::move(*answered), reply);
  const auto why = answered.error();
  if (const auto* refused = std::get_if<AccessRefusal>(&why))
    return reply.send(refusal_response(dialect, *refused, &call.exchange));
  reply.send(failure_response(dialect, call.exchange, log(), std::get<Error>(why)));
}

Parts App::parts_for(const Call& call, Reply& reply) {
  return {call.exchange, reply,          finder_,           suggester_,         reloader_,
          gate_,         *records_,      operations_,       telemetry_.metrics, log(),
          clock_,        readers_.pages, readers_.pictures, documents_};
}

void App::send_found(const Exchange& exchange, HttpResponse response, Reply& reply) {
  const std::shared_ptr<const Repeat> repeat = response.repeat;
  response = rendered_.finish(exchange, std::move(response));
  if (repeat != nullptr)
    telemetry_.metrics.stage("render", std::chrono::duration<double>(clock_.now() - repeat->found).count());
  reply.send(std::move(response));
}

/// Runs one step of a request. An exception becomes a 500, or ends an answer that has begun.
void App::guarded(Call& call, const std::function<void(Reply&)>& work) noexcept {
  std::string failure;
  try {
    Reply reply(call.exchange, *call.responder, clock_, telemetry_);
    try {
      return work(reply);
    } catch (const std::exception& error) {
      failure = error.what();
    } catch (...) {
      failure = "something other than an exception was thrown";
    }
    log().write(Log::Level::error, "a mistake of ours", {{"route", call.exchange.route}, {"what", failure}});
    if (reply.has_begun()) return reply.end();
    reply.send(error_response(error_dialect(call.route, call.exchange.request), 500,
                              "internal error; see the server's log"));
  } catch (...) {
    // no memory even for the 500: the responder's destructor answers
  }
}

}  // namespace metafuse::service
