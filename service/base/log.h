#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/json.h"

namespace metafuse::service {

/// Writes one JSON object per line to standard error; no value can end a line or forge a field. Safe from any
/// thread. A thread of its own writes, so that callers never wait for the reader of standard error. The queue
/// is bounded: when it is full, the oldest lines are dropped and counted.
class Log {
 public:
  enum class Level { info, warning, error };

  Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Writes the queued lines, for at most a second.
  ~Log();

  /// `fields` follow "time", "level" and "event". They must never contain the text of a query.
  void write(Level level, std::string_view event, JsonObject fields = {});

  /// One answered request. Only the key's name is escaped: every other field is a name of ours or
  /// was checked.
  struct RequestLine {
    std::string_view route;   ///< name in the table of routes
    std::string_view method;  ///< one that the parser of heads knows
    int status = 0;
    double seconds = 0;
    std::size_t bytes = 0;
    std::string_view key;      ///< name of the API key, empty without one
    std::string_view refused;  ///< why the gate refused it; empty if it did not
    std::string_view trace;    ///< next_traceparent()'s
  };
  void request(const RequestLine& request);

  /// How many lines were dropped.
  std::uint64_t dropped() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

/// Lets an event of each kind through at most once per minute, so that a failure of every search does not
/// fill the log.
class RareEvents {
 public:
  /// Whether the event should be logged now.
  ///
  /// in: kind - one of few, because each is remembered
  bool is_due(std::string kind, TimePoint now);

 private:
  std::mutex mutex_;
  std::map<std::string, TimePoint> told_;
};

}  // namespace metafuse::service
