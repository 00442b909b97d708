#include "service/metrics.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace metafuse::service {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries& latency_buckets() {
  static const Histogram::BucketBoundaries buckets = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                                      0.1,    0.2,   0.5,   1,     2,    5};
  return buckets;
}

Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Histogram>& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

class Metrics::Body {
 public:
  prometheus::Registry registry;
  Family<Counter>& requests =
      counter(registry, "metafuse_http_requests_total", "Requests answered, by route and status.");
  Family<Histogram>& request_seconds =
      histogram(registry, "metafuse_http_request_seconds", "Time from the request to its answer.");
  Family<Histogram>& stage_seconds =
      histogram(registry, "metafuse_search_stage_seconds", "Time of one stage of a search.");
  Family<Counter>& engine_lists =
      counter(registry, "metafuse_engine_lists_total", "Lists asked of an engine, by outcome.");
  Family<Histogram>& engine_seconds =
      histogram(registry, "metafuse_engine_seconds", "Time until an engine's list was there.");
  Family<Counter>& searches =
      counter(registry, "metafuse_searches_total", "Searches, by domain and fusion method.");
  Family<Counter>& cache =
      counter(registry, "metafuse_cache_lookups_total", "Look-ups in the cache of answers, by outcome.");
  Family<Counter>& refused =
      counter(registry, "metafuse_refused_total", "Requests refused before any work, by reason.");
  Family<Counter>& reloads = counter(registry, "metafuse_reloads_total", "Reloads, by outcome.");
  Family<Gauge>& models = prometheus::BuildGauge()
                              .Name("metafuse_model_info")
                              .Help("1 for the model version that serves a domain.")
                              .Register(registry);
  std::mutex mutex;
  std::map<std::string, Gauge*, std::less<>> gauges;
  std::map<std::string, std::string, std::less<>> versions;
};

Metrics::Metrics() : body_(std::make_unique<Body>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view route, int status, double seconds) {
  const std::string name(route);
  body_->requests.Add({{"route", name}, {"status", std::to_string(status)}}).Increment();
  body_->request_seconds.Add({{"route", name}}, latency_buckets()).Observe(seconds);
}

void Metrics::stage(std::string_view stage, double seconds) {
  body_->stage_seconds.Add({{"stage", std::string(stage)}}, latency_buckets()).Observe(seconds);
}

void Metrics::engine(std::string_view engine, std::string_view outcome, double seconds) {
  const std::string name(engine);
  body_->engine_lists.Add({{"engine", name}, {"outcome", std::string(outcome)}}).Increment();
  body_->engine_seconds.Add({{"engine", name}}, latency_buckets()).Observe(seconds);
}

void Metrics::search(std::string_view domain, std::string_view method) {
  body_->searches.Add({{"domain", std::string(domain)}, {"method", std::string(method)}}).Increment();
}

void Metrics::cache(std::string_view outcome) {
  body_->cache.Add({{"outcome", std::string(outcome)}}).Increment();
}

void Metrics::refused(std::string_view why) {
  body_->refused.Add({{"reason", std::string(why)}}).Increment();
}

void Metrics::reload(bool is_done) {
  body_->reloads.Add({{"outcome", is_done ? "done" : "refused"}}).Increment();
}

void Metrics::set(std::string_view gauge, double value) {
  const std::lock_guard lock(body_->mutex);
  const auto at = body_->gauges.find(gauge);
  if (at != body_->gauges.end()) {
    at->second->Set(value);
    return;
  }
  const std::string name(gauge);
  Gauge& made = prometheus::BuildGauge().Name(name).Help(name).Register(body_->registry).Add({});
  body_->gauges.emplace(name, &made);
  made.Set(value);
}

void Metrics::model(std::string_view domain, std::string_view version) {
  const std::lock_guard lock(body_->mutex);
  std::string& current = body_->versions[std::string(domain)];
  if (!current.empty() && current != version)
    body_->models.Add({{"domain", std::string(domain)}, {"version", current}}).Set(0);
  current = std::string(version);
  body_->models.Add({{"domain", std::string(domain)}, {"version", current}}).Set(1);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(body_->registry.Collect());
}

std::vector<Metrics::EngineLatency> Metrics::engine_latencies() const {
  std::vector<EngineLatency> out;
  for (const auto& family : body_->engine_seconds.Collect())
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
