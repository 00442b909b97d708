#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/name_lookup.h"
#include "core/result.h"

struct redisContext;
struct redisReply;

namespace metafuse::service {

/// Where a Redis server is: "redis://[:PASSWORD@]HOST[:PORT][/NUMBER]".
struct RedisAddress {
  std::string host;
  int port = 6379;
  int database = 0;
  std::string password;

  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// errors: bad_config, which never contains the password
Result<RedisAddress> parse_redis_url(std::string_view url);

/// A client of a Redis server that may be unreachable. Every call ends within kPatience, whatever the server,
/// the name resolver and the network do; a call that fails returns nothing. After a failure the server is
/// left alone for a second, so that a dead server costs no time. Safe from any thread.
class RedisClient {
 public:
  RedisClient(RedisAddress address, const Clock& clock);
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;
  ~RedisClient();

  std::optional<std::string> get(std::string_view key);
  /// out: whether the value was stored
  bool set(std::string_view key, std::string_view value, Duration lifetime);
  /// Adds to a number and returns the sum. The number is deleted after the lifetime.
  std::optional<std::int64_t> add(std::string_view key, std::int64_t amount, Duration lifetime);

  /// Runs a Lua script on one key, atomically.
  ///
  /// out: the text that the script returns
  std::optional<std::string> run_script(std::string_view script, std::string_view key,
                                        const std::vector<std::string>& arguments);

  std::uint64_t failures() const { return failures_; }

  static constexpr std::chrono::milliseconds kPatience{250};

 private:
  struct Free {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };
  using Connection = std::unique_ptr<redisContext, Free>;
  using Reply = std::unique_ptr<redisReply, Free>;

  Connection connect(TimePoint end);
  /// A free connection or a new one; nullptr while the server is left alone.
  Connection borrow(TimePoint end);
  void give_back(Connection connection);
  void note_failure();
  static std::vector<Reply> exchange(redisContext& connection,
                                     const std::vector<std::vector<std::string_view>>& commands,
                                     TimePoint end);
  /// Runs commands on one connection.
  ///
  /// out: their replies; empty on failure
  std::vector<Reply> run(const std::vector<std::vector<std::string_view>>& commands);
  /// Runs a command that is answered by a text.
  std::optional<std::string> text_of(const std::vector<std::string_view>& command);

  RedisAddress address_;
  NameLookup lookup_;
  const Clock& clock_;
  std::mutex mutex_;
  std::vector<Connection> free_;
  std::optional<TimePoint> left_alone_until_;
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace metafuse::service
