#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/json.h"
#include "core/result.h"
#include "fetchers/health/health_book.h"
#include "fetchers/http/transport.h"
#include "service/base/log.h"
#include "service/base/metrics.h"

namespace metafuse::service {

/// One part of a request's work: a span of OpenTelemetry.
struct Span {
  enum class Kind { internal = 1, server = 2, client = 3 };

  std::string trace;   ///< 32 hexadecimal digits
  std::string id;      ///< 16
  std::string parent;  ///< 16, empty for none
  std::string name;
  Kind kind = Kind::internal;
  TimePoint begin, end;
  std::vector<std::pair<std::string, std::string>> attributes = {};
  bool has_failed = false;
};

/// The parts of a valid `traceparent` header (W3C Trace Context).
struct TraceContext {
  std::string_view trace;
  std::string_view span;
  bool is_sampled = false;
};
TraceContext trace_context(std::string_view traceparent);

/// A new span's id.
std::string new_span_id();

/// Spans in OTLP's JSON format (ExportTraceServiceRequest).
///
/// in: server - names this process of the service; nanoseconds - offset from the spans' clock to the time
///     since 1970
JsonObject otlp_json(const std::vector<Span>& spans, std::string_view server, std::int64_t nanoseconds);

/// Sends spans to an OpenTelemetry collector by OTLP over HTTP, some hundred at a time. Safe from any thread.
/// A thread of its own sends, so that callers never wait: while the collector is slow or unreachable, spans
/// wait in a bounded queue and are retried, and are dropped when the queue is full. No span contains the text
/// of a query.
class Traces {
 public:
  struct Options {
    std::string url;     ///< "http://HOST:4318/v1/traces"
    std::string server;  ///< names this process
    std::size_t max_waiting = 8192;
    Duration patience = std::chrono::seconds(5);
  };

  /// errors: bad_config: the URL is not http or https
  static Result<std::unique_ptr<Traces>> open(Options options);
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;
  /// Tries once to send the waiting spans, within `patience`.
  ~Traces();

  void add(std::vector<Span> spans);
  std::uint64_t sent() const { return sent_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  Traces(Options options, std::string origin, std::unique_ptr<fetchers::Transport> transport);
  void send_until_stopped();
  /// out: whether they are done with: the collector took them or never will
  bool send(const std::vector<Span>& spans);

  const Options options_;
  const std::string origin_;
  const std::unique_ptr<fetchers::Transport> transport_;
  const std::int64_t nanoseconds_;  ///< offset from the steady clock to the time since 1970
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Span> waiting_;
  bool is_stopping_ = false;
  std::thread thread_;
};

/// What the process tells about its work.
struct Telemetry {
  Metrics metrics;
  Log log;
  std::unique_ptr<Traces> traces;  ///< nullptr if none are made
  fetchers::HealthBook health{};
};

}  // namespace metafuse::service
