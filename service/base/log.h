#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/json.h"

namespace metafuse::service {

/// One JSON object a line on standard error: no value can end a line or forge a field.
class Log {
 public:
  enum class Level { info, warning, error };

  Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
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

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace metafuse::service
