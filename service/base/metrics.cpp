#include "service/base/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "core/contract.h"

namespace metafuse::service {
namespace detail {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

inline const Histogram::BucketBoundaries& latency_buckets() {
  static const Histogram::BucketBoundaries buckets = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                                      0.1,    0.2,   0.5,   1,     2,    5};
  return buckets;
}

inline Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

inline Family<Histogram>& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

/// The members of a metric family by the values of their labels, so that counting costs a look-up instead of
/// building the labels.
template <class Metric>
class Members {
 public:
  /// in: make - adds the member to its family if it is missing
  template <class Make>
  Metric& at(std::string_view first, std::string_view second, const Make& make) {
    thread_local std::string name;
    name.assign(first).append(1, '\0').append(second);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = members_.find(name); found != members_.end()) return *found->second;
    }
    Metric& made = make();
    const std::unique_lock lock(mutex_);
    members_.emplace(name, &made);
    return made;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Metric*> members_;
};

/// A family of counters with up to two labels.
class Counters {
 public:
  Counters(prometheus::Registry& registry, const char* name, const char* help, std::string first,
           std::string second = "")
      : family_(counter(registry, name, help)), first_(std::move(first)), second_(std::move(second)) {}

  void add(std::string_view first, std::string_view second = {}) {
    members_
        .at(first, second,
            [&]() -> Counter& {
              std::map<std::string, std::string> labels{{first_, std::string(first)}};
              if (!second_.empty()) labels.emplace(second_, second);
              return family_.Add(labels);
            })
        .Increment();
  }

 private:
  Family<Counter>& family_;
  std::string first_;
  std::string second_;
  Members<Counter> members_;
};

/// A family of latencies with one label.
class Latencies {
 public:
  Latencies(prometheus::Registry& registry, const char* name, const char* help, std::string label)
      : family_(histogram(registry, name, help)), label_(std::move(label)) {}

  void add(std::string_view value, double seconds) {
    members_
        .at(value, {},
            [&]() -> Histogram& {
              return family_.Add({{label_, std::string(value)}}, latency_buckets());
            })
        .Observe(seconds);
  }
  auto collect() const { return family_.Collect(); }

 private:
  Family<Histogram>& family_;
  std::string label_;
  Members<Histogram> members_;
};

struct ReadingHelp {
  std::string_view name;
  const char* help;
};

/// The gauges and counters that are read when metrics are requested.
constexpr ReadingHelp kReadings[] = {
    {"metafuse_workers_running", "Requests that workers are answering."},
    {"metafuse_workers_queue", "Requests that are waiting for a worker."},
    {"metafuse_cache_entries", "Fused answers in the cache."},
    {"metafuse_cache_bytes", "Bytes of the fused answers in the cache."},
    {"metafuse_rendered_entries", "Rendered answers in the cache."},
    {"metafuse_rendered_bytes", "Bytes of the rendered answers in the cache."},
    {"metafuse_connections_open", "Open connections."},
    {"metafuse_connections_busy", "Connections with a request that has not been answered yet."},
    {"metafuse_connections_accepted_total", "Connections accepted."},
    {"metafuse_connections_refused_total",
     "Connections closed for malformed framing or because of the limit."},
    {"metafuse_connections_timed_out_total", "Connections closed because the other end was too slow."},
    {"metafuse_connections_displaced_total",
     "Idle connections closed because another client needed the place."},
    {"metafuse_log_lines_dropped_total", "Log lines dropped because nobody read them in time."},
    {"metafuse_searches_stored_total", "Searches stored."},
    {"metafuse_searches_dropped_total", "Searches that could not be stored."},
    {"metafuse_store_available", "0 while the store does not answer."},
    {"metafuse_spans_sent_total", "Spans accepted by the collector."},
    {"metafuse_spans_dropped_total", "Spans that did not reach the collector."},
    {"metafuse_clock_ahead_seconds",
     "Seconds by which this machine's clock is ahead of the database's, which decides."},
    {"metafuse_has_duty", "1 if this server deletes, retrains and promotes for all servers of its store."},
    {"metafuse_listens", "1 while the store reports changes; 0 while the server polls for them."},
    {"metafuse_reload_failed", "1 if the last reload was refused; the log says why."},
};

inline const char* help_of(std::string_view name) {
  for (const ReadingHelp& reading : kReadings)
    if (reading.name == name) return reading.help;
  require(false, "every reading stands in the table");
  return "";
}

}  // namespace detail

using namespace detail;

class Metrics::Body {
 public:
  prometheus::Registry registry;
  Counters requests{registry, "metafuse_http_requests_total", "Requests answered, by route and status.",
                    "route", "status"};
  Latencies request_seconds{registry, "metafuse_http_request_seconds", "Time from the request to its answer.",
                            "route"};
  Latencies stage_seconds{registry, "metafuse_search_stage_seconds", "Time of one stage of a search.",
                          "stage"};
  Counters engine_lists{registry, "metafuse_engine_lists_total", "Lists asked of an engine, by outcome.",
                        "engine", "outcome"};
  Latencies engine_seconds{registry, "metafuse_engine_seconds", "Time until an engine's list arrived.",
                           "engine"};
  Counters searches{registry, "metafuse_searches_total", "Searches, by domain and fusion method.", "domain",
                    "method"};
  Counters cache{registry, "metafuse_cache_lookups_total", "Look-ups in the cache of answers, by outcome.",
                 "outcome"};
  Counters refused{registry, "metafuse_refused_total",
                   "Requests refused before any work was done, by reason.", "reason"};
  Counters reloads{registry, "metafuse_reloads_total", "Reloads, by outcome.", "outcome"};
  Family<Gauge>& breakers = prometheus::BuildGauge()
                                .Name("metafuse_engine_breaker_open")
                                .Help("1 while an engine is not asked because it failed too often.")
                                .Register(registry);
  Members<Gauge> breaker_of;
  Family<Gauge>& models = prometheus::BuildGauge()
                              .Name("metafuse_model_info")
                              .Help("1 for the model version that serves a domain.")
                              .Register(registry);
  Family<Gauge>& templates = prometheus::BuildGauge()
                                 .Name("metafuse_templates_info")
                                 .Help("1 for the version of the templates that serves a domain.")
                                 .Register(registry);
  std::mutex mutex;
  std::map<std::string, Gauge*, std::less<>> gauges;
  std::map<std::string, Counter*, std::less<>> totals;
  std::map<std::string, Gauge*, std::less<>> versions;
};

Metrics::Metrics() : body_(std::make_unique<Body>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view route, int status, double seconds) {
  std::array<char, 8> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), status);
  body_->requests.add(route, {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
  body_->request_seconds.add(route, seconds);
}

void Metrics::stage(std::string_view stage, double seconds) {
  body_->stage_seconds.add(stage, seconds);
}

void Metrics::engine(std::string_view engine, std::string_view outcome, double seconds) {
  body_->engine_lists.add(engine, outcome);
  body_->engine_seconds.add(engine, seconds);
}

void Metrics::breaker(std::string_view engine, bool is_open) {
  body_->breaker_of
      .at(engine, {},
          [&]() -> Gauge& {
            return body_->breakers.Add({{"engine", std::string(engine)}});
          })
      .Set(is_open ? 1 : 0);
}

void Metrics::search(std::string_view domain, std::string_view method) {
  body_->searches.add(domain, method);
}

void Metrics::cache(std::string_view outcome) {
  body_->cache.add(outcome);
}

void Metrics::refused(std::string_view why) {
  body_->refused.add(why);
}

void Metrics::reload(bool is_done) {
  body_->reloads.add(is_done ? "done" : "refused");
}

void Metrics::set(std::string_view reading, double value) {
  const std::lock_guard lock(body_->mutex);
  const std::string name(reading);
  if (reading.ends_with("_total")) {
    Counter*& total = body_->totals[name];
    if (total == nullptr) total = &counter(body_->registry, name.c_str(), help_of(reading)).Add({});
    total->Increment(value - total->Value());
    return;
  }
  Gauge*& gauge = body_->gauges[name];
  if (gauge == nullptr)
    gauge = &prometheus::BuildGauge().Name(name).Help(help_of(reading)).Register(body_->registry).Add({});
  gauge->Set(value);
}

void Metrics::serves(std::string_view domain, std::string_view templates, std::string_view model) {
  const std::lock_guard lock(body_->mutex);
  const auto show = [&](Family<Gauge>& family, std::string_view kind, std::string_view version) {
    const std::string name(domain);
    Gauge*& shown = body_->versions[std::string(kind) + ' ' + name];
    Gauge& now = family.Add({{"domain", name}, {"version", std::string(version)}});
    if (shown != nullptr && shown != &now) family.Remove(shown);
    shown = &now;
    now.Set(1);
  };
  show(body_->templates, "templates", templates);
  show(body_->models, "model", model);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(body_->registry.Collect());
}

std::vector<Metrics::EngineLatency> Metrics::engine_latencies() const {
  std::vector<EngineLatency> out;
  for (const auto& family : body_->engine_seconds.collect())
    for (const auto& metric : family.metric) {
      const auto& measured = metric.histogram;
      EngineLatency latency{metric.label.empty() ? "" : metric.label.front().value, measured.sample_count,
                            0.0, 0.0};
      if (latency.lists == 0) continue;
      latency.mean_seconds = measured.sample_sum / static_cast<double>(latency.lists);
      latency.p95_seconds = latency_buckets().back();
      for (const auto& bucket : measured.bucket) {
        if (static_cast<double>(bucket.cumulative_count) < 0.95 * static_cast<double>(latency.lists))
          continue;
        latency.p95_seconds = std::min(bucket.upper_bound, latency_buckets().back());
        break;
      }
      out.push_back(std::move(latency));
    }
  return out;
}

}  // namespace metafuse::service
