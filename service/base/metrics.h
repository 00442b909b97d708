#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::service {

/// Gauges that more than one place sets or reads.
inline constexpr std::string_view kReloadFailed = "metafuse_reload_failed";
inline constexpr std::string_view kFailingIndexes = "metafuse_indexes_failing";

/// Counters and latencies in Prometheus' text format. Labels hold only names from our own files and tables,
/// never text from a request. Safe from any thread.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  void request(std::string_view route, int status, double seconds);
  /// stage is "fetch", "fuse" or "render".
  void stage(std::string_view stage, double seconds);
  void engine(std::string_view engine, std::string_view outcome, double seconds);
  /// Counts an engine's requests, and what they cost.
  void requested(std::string_view engine, int requests, double price);
  /// Counts a list that a search of a domain with `select` did without, and the price of a request for it.
  void saved(std::string_view engine, std::string_view why, double price);
  /// Counts a list that another instance of the engine was asked for too.
  void hedged(std::string_view engine, bool has_won);
  /// Whether an engine's circuit breaker was open when the engine was last asked.
  void breaker(std::string_view engine, bool is_open);
  /// Removes the breakers of other engines: with their last state, an alert about it would never end.
  void keep_breakers(const std::set<std::string, std::less<>>& engines);
  /// Sets the states of engines, each one of `states`, and removes those of other engines.
  void engine_health(const std::map<std::string, std::string_view, std::less<>>& engines,
                     std::span<const std::string_view> states);
  void search(std::string_view domain, std::string_view method);
  void cache(std::string_view outcome);
  void refused(std::string_view why);
  void reload(bool is_done);
  /// Sets a gauge, or a counter that is counted elsewhere (its name ends in _total).
  void set(std::string_view reading, double value);
  /// The value that a gauge was last set to; 0 before that.
  double gauge(std::string_view reading) const;
  /// The versions of templates and model that serve a domain.
  struct Served {
    std::string domain, templates, model;
  };
  /// Sets what serves from now on; the series of earlier versions and of other domains are removed.
  void serves(std::span<const Served> all);

  std::string text() const;

  /// The latency of an engine's lists since the process began.
  struct EngineLatency {
    std::string engine;
    std::uint64_t lists = 0;
    double mean_seconds = 0;
    double p95_seconds = 0;  ///< upper bound of the histogram bucket that holds it, at most the largest bound
  };
  std::vector<EngineLatency> engine_latencies() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace metafuse::service
