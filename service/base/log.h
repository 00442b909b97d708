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

/// One JSON object per line on standard error: no value can end a line or forge a field. A thread of its own
/// writes, so nobody who logs waits for whoever reads: the queue is bounded, and when it is full the oldest
/// lines are dropped and counted. From any thread.
class Log {
 public:
  enum class Level { info, warning, error };

  Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Writes what waits, for a second at most.
  ~Log();

  /// `fields` follow "time", "level" and "event". Query text never belongs into them.
  void write(Level level, std::string_view event, JsonObject fields = {});

  /// One answered request. Every field but the key's name is ours or was checked: only that is escaped.
  struct RequestLine {
    std::string_view route;   ///< of the table of routes
    std::string_view method;  ///< one that the parser of heads knows
    int status = 0;
    double seconds = 0;
    std::size_t bytes = 0;
    std::string_view key;      ///< name of the API key, empty without one
    std::string_view refused;  ///< why it was turned away before its handler, empty when it was not
    std::string_view trace;    ///< next_traceparent()'s
  };
  void request(const RequestLine& request);

  /// Lines that nobody will read.
  std::uint64_t dropped() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

/// Lets an event of one kind through once a minute, so that what fails with every search does not fill
/// the log.
class RareEvents {
 public:
  /// Whether the event should be told now.
  /// in:     kind - one of few: each is kept
  bool is_due(std::string kind, TimePoint now);

 private:
  std::mutex mutex_;
  std::map<std::string, TimePoint> told_;
};

}  // namespace metafuse::service
