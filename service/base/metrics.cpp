#include "service/base/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "core/contract.h"
#include "core/keyed_hash.h"
#include "core/text.h"

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

/// A family of metrics, with the names of its labels.
struct FamilyRow {
  const char* name;
  const char* help;
  const char* first = nullptr;
  const char* second = nullptr;
};

constexpr FamilyRow kRequests{"metafuse_http_requests_total", "Requests answered, by route and status.",
                              "route", "status"};
constexpr FamilyRow kEngineLists{"metafuse_engine_lists_total", "Lists asked of an engine, by outcome.",
                                 "engine", "outcome"};
constexpr FamilyRow kEngineRequests{"metafuse_engine_requests_total",
                                    "HTTP requests to an engine: pages, steps and retries too.", "engine"};
constexpr FamilyRow kSpent{"metafuse_engine_money_spent_total",
                           "What these requests cost, by the engine's price.", "engine"};
constexpr FamilyRow kSavedLists{"metafuse_engine_lists_saved_total",
                                "Lists of an engine that a search did without, by reason.", "engine", "why"};
constexpr FamilyRow kSavedMoney{"metafuse_engine_money_saved_total",
                                "What such lists would have cost at one request each.", "engine"};
constexpr FamilyRow kHedges{"metafuse_engine_hedges_total",
                            "Lists of an engine that another instance was asked for too, by whether it won.",
                            "engine", "outcome"};
constexpr FamilyRow kSearches{"metafuse_searches_total", "Searches, by domain and fusion method.", "domain",
                              "method"};
constexpr FamilyRow kLookups{"metafuse_cache_lookups_total", "Look-ups in the cache of answers, by outcome.",
                             "outcome"};
constexpr FamilyRow kRefused{"metafuse_refused_total",
                             "Requests refused before any work was done, by reason.", "reason"};
constexpr FamilyRow kReloads{"metafuse_reloads_total", "Reloads, by outcome.", "outcome"};

constexpr FamilyRow kRequestSeconds{"metafuse_http_request_seconds", "Time from the request to its answer.",
                                    "route"};
constexpr FamilyRow kStageSeconds{"metafuse_search_stage_seconds", "Time of one stage of a search.", "stage"};
constexpr FamilyRow kEngineSeconds{"metafuse_engine_seconds", "Time until an engine's list arrived.",
                                   "engine"};

constexpr FamilyRow kBreakers{"metafuse_engine_breaker_open",
                              "1 while an engine is not asked because it failed too often.", "engine"};
constexpr FamilyRow kHealth{"metafuse_engine_health",
                            "1 for the state of an engine's answers: works, empty, blocked ...", "engine",
                            "state"};
constexpr FamilyRow kModels{"metafuse_model_info", "1 for the model version that serves a domain."};
constexpr FamilyRow kTemplates{"metafuse_templates_info",
                               "1 for the version of the templates that serves a domain."};

/// The gauges and counters that are read when metrics are requested.
constexpr FamilyRow kReadings[] = {
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
    {kReloadFailed.data(), "1 if the last reload was refused; the log says why."},
    {kFailingIndexes.data(), "Embedded indexes that cannot be brought up to date; the log says why."},
};

/// The family of a row, which the first call registers.
template <class Metric>
Family<Metric>& family_of(prometheus::Registry& registry, const FamilyRow& row) {
  return prometheus::detail::Builder<Metric>().Name(row.name).Help(row.help).Register(registry);
}

/// The metrics of all families of one type by the values of their labels, so that counting costs a look-up
/// instead of building the labels.
template <class Metric>
class Members {
 public:
  explicit Members(prometheus::Registry& registry) : registry_(registry) {}

  /// The metric with these values of the row's labels; added if it is missing. Not of a family of which
  /// some are removed.
  Metric& at(const FamilyRow& row, std::string_view first = {}, std::string_view second = {}) {
    Metric* found = nullptr;
    visit(row, first, second, [&](Metric& metric) { found = &metric; });
    return *found;
  }

  /// Calls `act` with the metric, which is not removed meanwhile.
  template <class Act>
  void visit(const FamilyRow& row, std::string_view first, std::string_view second, const Act& act) {
    thread_local std::string name;
    name.assign(row.name).append(1, ' ').append(first).append(1, '\0').append(second);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = members_.find(name); found != members_.end()) return act(*found->second);
    }
    std::map<std::string, std::string> labels;
    if (row.first != nullptr) labels.emplace(row.first, first);
    if (row.second != nullptr) labels.emplace(row.second, second);
    Family<Metric>& family = family_of<Metric>(registry_, row);
    const std::unique_lock lock(mutex_);
    Metric*& made = members_[name];
    if (made == nullptr) {
      if constexpr (std::is_same_v<Metric, Histogram>)
        made = &family.Add(labels, latency_buckets());
      else
        made = &family.Add(labels);
    }
    act(*made);
  }

  /// Removes a family's metrics whose first label has another value than these.
  template <class Names>
  void keep(const FamilyRow& row, const Names& names) {
    Family<Metric>& family = family_of<Metric>(registry_, row);
    const std::string begin = std::string(row.name) + ' ';
    const std::unique_lock lock(mutex_);
    std::erase_if(members_, [&](const auto& member) {
      std::string_view first = member.first;
      if (!first.starts_with(begin)) return false;
      first.remove_prefix(begin.size());
      if (names.contains(take_until(first, '\0'))) return false;
      family.Remove(member.second);
      return true;
    });
  }

 private:
  prometheus::Registry& registry_;
  std::shared_mutex mutex_;
  TextMap<Metric*> members_;
};

}  // namespace detail

using namespace detail;

class Metrics::Body {
 public:
  Body() {  // fixes the order in which the families are listed
    for (const FamilyRow& row : {kRequests, kEngineLists, kSearches, kLookups, kRefused, kReloads})
      family_of<Counter>(registry, row);
    for (const FamilyRow& row : {kRequestSeconds, kStageSeconds, kEngineSeconds})
      family_of<Histogram>(registry, row);
    for (const FamilyRow& row : {kBreakers, kHealth, kModels, kTemplates}) family_of<Gauge>(registry, row);
  }

  prometheus::Registry registry;
  Members<Counter> counters{registry};
  Members<Histogram> latencies{registry};
  Members<Gauge> gauges{registry};
  std::mutex mutex;                             ///< for set() and serves(), which read before they write
  std::map<Gauge*, const FamilyRow*> versions;  ///< that serve now, and their families
};

Metrics::Metrics() : body_(std::make_unique<Body>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view route, int status, double seconds) {
  std::array<char, 8> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), status);
  const std::string_view text(digits.data(), static_cast<std::size_t>(written.ptr - digits.data()));
  body_->counters.at(kRequests, route, text).Increment();
  body_->latencies.at(kRequestSeconds, route).Observe(seconds);
}

void Metrics::stage(std::string_view stage, double seconds) {
  body_->latencies.at(kStageSeconds, stage).Observe(seconds);
}

void Metrics::engine(std::string_view engine, std::string_view outcome, double seconds) {
  body_->counters.at(kEngineLists, engine, outcome).Increment();
  body_->latencies.at(kEngineSeconds, engine).Observe(seconds);
}

void Metrics::breaker(std::string_view engine, bool is_open) {
  body_->gauges.visit(kBreakers, engine, {}, [&](Gauge& gauge) { gauge.Set(is_open ? 1 : 0); });
}

void Metrics::keep_breakers(const std::set<std::string, std::less<>>& engines) {
  body_->gauges.keep(kBreakers, engines);
}

void Metrics::engine_health(const std::map<std::string, std::string_view, std::less<>>& engines,
                            std::span<const std::string_view> states) {
  body_->gauges.keep(kHealth, engines);
  for (const auto& [engine, state] : engines)
    for (const std::string_view one : states)
      body_->gauges.visit(kHealth, engine, one, [&](Gauge& gauge) { gauge.Set(one == state ? 1 : 0); });
}

void Metrics::search(std::string_view domain, std::string_view method) {
  body_->counters.at(kSearches, domain, method).Increment();
}

void Metrics::requested(std::string_view engine, int requests, double price) {
  if (requests == 0) return;
  body_->counters.at(kEngineRequests, engine).Increment(requests);
  if (price > 0) body_->counters.at(kSpent, engine).Increment(requests * price);
}

void Metrics::saved(std::string_view engine, std::string_view why, double price) {
  body_->counters.at(kSavedLists, engine, why).Increment();
  if (price > 0) body_->counters.at(kSavedMoney, engine).Increment(price);
}

void Metrics::hedged(std::string_view engine, bool has_won) {
  body_->counters.at(kHedges, engine, has_won ? "won" : "lost").Increment();
}

void Metrics::cache(std::string_view outcome) {
  body_->counters.at(kLookups, outcome).Increment();
}

void Metrics::refused(std::string_view why) {
  body_->counters.at(kRefused, why).Increment();
}

void Metrics::reload(bool is_done) {
  body_->counters.at(kReloads, is_done ? "done" : "refused").Increment();
}

namespace {

const FamilyRow& row_of(std::string_view reading) {
  const auto row = std::find_if(std::begin(kReadings), std::end(kReadings),
                                [&](const FamilyRow& one) { return one.name == reading; });
  require(row != std::end(kReadings), "every reading stands in the table");
  return *row;
}

}  // namespace

void Metrics::set(std::string_view reading, double value) {
  const FamilyRow& row = row_of(reading);
  const std::lock_guard lock(body_->mutex);
  if (!reading.ends_with("_total")) return body_->gauges.at(row).Set(value);
  Counter& total = body_->counters.at(row);
  total.Increment(value - total.Value());
}

double Metrics::gauge(std::string_view reading) const {
  return body_->gauges.at(row_of(reading)).Value();
}

void Metrics::serves(std::span<const Served> all) {
  const std::lock_guard lock(body_->mutex);
  auto before = std::exchange(body_->versions, {});
  const auto show = [&](const FamilyRow& row, const std::string& domain, const std::string& version) {
    Gauge& now = family_of<Gauge>(body_->registry, row).Add({{"domain", domain}, {"version", version}});
    now.Set(1);
    body_->versions.emplace(&now, &row);
    before.erase(&now);
  };
  for (const Served& one : all) {
    show(kTemplates, one.domain, one.templates);
    show(kModels, one.domain, one.model);
  }
  for (const auto& [gauge, row] : before) family_of<Gauge>(body_->registry, *row).Remove(gauge);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(body_->registry.Collect());
}

std::vector<Metrics::EngineLatency> Metrics::engine_latencies() const {
  std::vector<EngineLatency> out;
  for (const auto& family : family_of<Histogram>(body_->registry, kEngineSeconds).Collect())
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
