#include "service/store/redis_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <hiredis/hiredis.h>
#include <sys/time.h>

namespace metafuse::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookUpPatience{50};
constexpr milliseconds kRedisConnectPatience{100};
constexpr milliseconds kAnswerPatience{50};  ///< for one read or write
constexpr std::chrono::seconds kRedisRest{1};
constexpr std::size_t kMostFree = 16;

/// The machine's clock and not the client's, because tests cannot control how long a socket waits.
TimePoint now() {
  return machine_clock().now();
}

timeval timeval_of(milliseconds duration) {
  return {static_cast<time_t>(duration.count() / 1000),
          static_cast<suseconds_t>(duration.count() % 1000 * 1000)};
}

Error bad_redis(std::string_view what) {
  return fail(Code::bad_config, "a Redis address " + std::string(what) +
                                    "; write redis://HOST:PORT/NUMBER or redis://:PASSWORD@HOST:PORT/NUMBER");
}

/// The whole text as a number from 0 to `most`.
std::optional<int> number_of(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

}  // namespace

Result<RedisAddress> parse_redis_url(std::string_view url) {
  constexpr std::string_view kScheme = "redis://";
  if (!url.starts_with(kScheme)) return bad_redis("does not begin with redis://");
  url.remove_prefix(kScheme.size());
  RedisAddress address;
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
    if (url.front() != ':') return bad_redis("has a user name, which is not supported");
    address.password = std::string(url.substr(1, at - 1));
    url.remove_prefix(at + 1);
  }
  if (const std::size_t slash = url.find('/'); slash != std::string_view::npos) {
    const auto database = number_of(url.substr(slash + 1), 1023);
    if (slash + 1 < url.size() && !database) return bad_redis("has a database that is not a number");
    address.database = database.value_or(0);
    url = url.substr(0, slash);
  }
  const std::size_t bracket = url.starts_with('[') ? url.find(']') : 0;
  if (bracket == std::string_view::npos) return bad_redis("has a bracket that is not closed");
  const std::size_t colon = url.find(':', bracket);
  if (colon != std::string_view::npos) {
    const auto port = number_of(url.substr(colon + 1), 65535);
    if (!port || *port == 0) return bad_redis("has an invalid port");
    address.port = *port;
  }
  std::string_view host = url.substr(0, colon);
  if (bracket > 0 && bracket + 1 == host.size()) host = host.substr(1, bracket - 1);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) return bad_redis("has no host");
  address.host = std::string(host);
  return address;
}

/// Sends commands and reads their replies. A server that answers byte by byte is cut off at `end`.
///
/// out: the replies; empty if one is missing or an error
std::vector<RedisClient::Reply> RedisClient::exchange(
    redisContext& connection, const std::vector<std::vector<std::string_view>>& commands, TimePoint end) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const auto& command : commands) {
    texts.clear();
    sizes.clear();
    for (const std::string_view part : command) {
      texts.push_back(part.data());
      sizes.push_back(part.size());
    }
    redisAppendCommandArgv(&connection, static_cast<int>(texts.size()), texts.data(), sizes.data());
  }
  for (int is_sent = 0; is_sent == 0;)
    if (now() >= end || redisBufferWrite(&connection, &is_sent) != REDIS_OK) return {};
  std::vector<Reply> replies;
  while (replies.size() < commands.size()) {
    void* raw = nullptr;
    if (redisGetReplyFromReader(&connection, &raw) != REDIS_OK) return {};
    if (raw == nullptr) {
      if (now() >= end || redisBufferRead(&connection) != REDIS_OK) return {};
      continue;
    }
    replies.emplace_back(static_cast<redisReply*>(raw));
    if (replies.back()->type == REDIS_REPLY_ERROR) return {};
  }
  return replies;
}

void RedisClient::Free::operator()(redisContext* context) const {
  redisFree(context);
}
void RedisClient::Free::operator()(redisReply* reply) const {
  freeReplyObject(reply);
}

RedisClient::RedisClient(RedisAddress address, const Clock& clock)
    : address_(std::move(address)), lookup_(address_.host), clock_(clock) {}

RedisClient::~RedisClient() = default;

RedisClient::Connection RedisClient::connect(TimePoint end) {
  Connection connection;
  // a numeric address, because hiredis would resolve a name without a time limit
  for (const std::string& address : lookup_.addresses(kLookUpPatience)) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - now());
    if (left <= milliseconds::zero()) break;
    connection.reset(redisConnectWithTimeout(address.c_str(), address_.port,
                                             timeval_of(std::min(left, kRedisConnectPatience))));
    if (connection != nullptr && connection->err == 0) break;
    connection.reset();
  }
  if (connection == nullptr) return nullptr;
  redisSetTimeout(connection.get(), timeval_of(kAnswerPatience));
  std::vector<std::vector<std::string_view>> greeting;
  const std::string database = std::to_string(address_.database);
  if (!address_.password.empty()) greeting.push_back({"AUTH", address_.password});
  if (address_.database != 0) greeting.push_back({"SELECT", database});
  if (!greeting.empty() && exchange(*connection, greeting, end).empty()) return nullptr;
  return connection;
}

RedisClient::Connection RedisClient::borrow(TimePoint end) {
  {
    const std::lock_guard lock(mutex_);
    if (left_alone_until_ && clock_.now() < *left_alone_until_) return nullptr;
    if (!free_.empty()) {
      Connection connection = std::move(free_.back());
      free_.pop_back();
      return connection;
    }
  }
  Connection connection = connect(end);
  if (connection == nullptr) note_failure();
  return connection;
}

void RedisClient::give_back(Connection connection) {
  const std::lock_guard lock(mutex_);
  left_alone_until_.reset();
  if (free_.size() < kMostFree) free_.push_back(std::move(connection));
}

void RedisClient::note_failure() {
  ++failures_;
  const std::lock_guard lock(mutex_);
  left_alone_until_ = clock_.now() + kRedisRest;
  free_.clear();
}

std::vector<RedisClient::Reply> RedisClient::run(const std::vector<std::vector<std::string_view>>& commands) {
  const TimePoint end = now() + kPatience;
  Connection connection = borrow(end);
  if (connection == nullptr) return {};
  auto replies = exchange(*connection, commands, end);
  if (replies.empty())
    note_failure();
  else
    give_back(std::move(connection));
  return replies;
}

std::optional<std::string> RedisClient::text_of(const std::vector<std::string_view>& command) {
  const auto replies = run({command});
  if (replies.empty() || replies[0]->type != REDIS_REPLY_STRING) return std::nullopt;
  return std::string(replies[0]->str, replies[0]->len);
}

std::optional<std::string> RedisClient::get(std::string_view key) {
  return text_of({"GET", key});
}

bool RedisClient::set(std::string_view key, std::string_view value, Duration lifetime) {
  const std::string ms = std::to_string(std::chrono::duration_cast<milliseconds>(lifetime).count());
  return !run({{"SET", key, value, "PX", ms}}).empty();
}

std::optional<std::int64_t> RedisClient::add(std::string_view key, std::int64_t amount, Duration lifetime) {
  const std::string by = std::to_string(amount);
  const std::string ms = std::to_string(std::chrono::duration_cast<milliseconds>(lifetime).count());
  const auto replies = run({{"INCRBY", key, by}, {"PEXPIRE", key, ms}});
  if (replies.empty() || replies[0]->type != REDIS_REPLY_INTEGER) return std::nullopt;
  return replies[0]->integer;
}

std::optional<std::string> RedisClient::run_script(std::string_view script, std::string_view key,
                                                   const std::vector<std::string>& arguments) {
  std::vector<std::string_view> command{"EVAL", script, "1", key};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return text_of(command);
}

}  // namespace metafuse::service
