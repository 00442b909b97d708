#pragma once

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

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace metafuse::service
