#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tests/support/wire_server.h"

namespace metafuse::test {

/// A server that speaks enough of MongoDB's wire protocol for an aggregation (OP_MSG, and OP_QUERY for the
/// greeting); the test decides what it finds. Debian has no MongoDB server.
class MongoServer {
 public:
  struct Answer {
    std::vector<std::string> documents{};  ///< extended JSON
    int error_code = 0;                    ///< if not 0, answer with this error instead
    std::string error{};
    bool hangs = false;
  };
  /// in: command - `aggregate`, as relaxed extended JSON
  using Aggregate = std::function<Answer(const JsonObject& command)>;

  explicit MongoServer(Aggregate aggregate);

  std::uint16_t port() const { return server_.port(); }
  int connections() const { return server_.connections(); }
  /// The last command other than the greeting.
  JsonObject last_command() const;

 private:
  void serve(int socket);
  std::string reply_to(const JsonObject& command, bool& hangs);

  Aggregate aggregate_;
  mutable std::mutex mutex_;
  JsonObject last_command_;
  std::vector<std::string> rest_;  ///< documents of an open cursor that are still to be sent
  WireServer server_;
};

}  // namespace metafuse::test
