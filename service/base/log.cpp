#include "service/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

namespace metafuse::service {
namespace detail {

constexpr std::size_t kQueuedLines = 4096;
constexpr std::chrono::seconds kLastWords{1};
constexpr int kLookMs = 50;
constexpr std::chrono::milliseconds kGathering{5};

/// Standard error, for the writing thread. It waits for a slow reader without limit until end_by() sets one.
/// A line that comes alone is written at once. Then the thread pauses, so that the lines of a busy server
/// neither wake it nor are written one by one.
class PatientErrorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  /// in: queue - whose thread calls this sink; it outlives the calls
  explicit PatientErrorSink(spdlog::details::thread_pool& queue) : queue_(queue) {}
  PatientErrorSink(const PatientErrorSink&) = delete;
  PatientErrorSink& operator=(const PatientErrorSink&) = delete;
  ~PatientErrorSink() override { write_lines(); }

  void end_by(std::chrono::steady_clock::time_point time) { ends_at_ = time.time_since_epoch().count(); }
  std::uint64_t dropped() const { return dropped_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    // whole lines in each write of at most PIPE_BUF bytes, so that other programs' lines cannot cut them
    if (lines_.size() + message.payload.size() >= PIPE_BUF) write_lines();
    lines_.append(message.payload.data(), message.payload.size());
    lines_ += '\n';
    ++line_count_;
    if (queue_.queue_size() > 0) return;
    write_lines();
    if (ends_at_ == kNever) std::this_thread::sleep_for(kGathering);
  }
  void flush_() override { write_lines(); }

 private:
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max().time_since_epoch().count();

  void write_lines() {
    if (!write_all(lines_)) dropped_ += line_count_;
    lines_.clear();
    line_count_ = 0;
  }

  bool write_all(std::string_view rest) const {
    while (!rest.empty()) {
      if (!becomes_writable()) return false;
      // a pipe that poll() reports writable takes PIPE_BUF bytes without blocking
      const auto written = ::write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool becomes_writable() const {
    while (true) {
      const bool is_over = std::chrono::steady_clock::now().time_since_epoch().count() >= ends_at_;
      pollfd output{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&output, 1, is_over ? 0 : kLookMs) > 0) return true;
      if (is_over) return false;
    }
  }

  spdlog::details::thread_pool& queue_;
  std::string lines_;  // not yet written
  std::uint64_t line_count_ = 0;
  std::atomic<std::chrono::steady_clock::rep> ends_at_{kNever};
  std::atomic<std::uint64_t> dropped_{0};
};

/// Appends the time as "2026-01-31T12:00:00.123Z". All but the milliseconds is formatted once per second.
void append_now(std::string& out) {
  const auto now = std::chrono::system_clock::now();
  const std::time_t whole = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  thread_local std::time_t written = -1;
  thread_local std::array<char, 24> text{};
  if (whole != written) {
    std::tm parts{};
    ::gmtime_r(&whole, &parts);
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    written = whole;
  }
  fmt::format_to(std::back_inserter(out), "{}.{:03}Z", text.data(), ms);
}

std::string_view level_name(Log::Level level) {
  if (level == Log::Level::info) return "info";
  return level == Log::Level::warning ? "warning" : "error";
}

}  // namespace detail

using namespace detail;

class Log::Body {
 public:
  Body()
      : pool_(std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1)),
        sink_(std::make_shared<PatientErrorSink>(*pool_)),
        logger_(std::make_shared<spdlog::async_logger>("metafuse", sink_, pool_,
                                                       spdlog::async_overflow_policy::overrun_oldest)) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { sink_->end_by(std::chrono::steady_clock::now() + kLastWords); }

  void line(std::string_view text) { logger_->info(spdlog::string_view_t(text.data(), text.size())); }
  std::uint64_t dropped() const { return pool_->overrun_counter() + sink_->dropped(); }

 private:
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<PatientErrorSink> sink_;
  std::shared_ptr<spdlog::async_logger> logger_;
};

Log::Log() : body_(std::make_unique<Body>()) {}
Log::~Log() = default;

void Log::write(Level level, std::string_view event, JsonObject fields) {
  std::string time;
  append_now(time);
  JsonObject line;
  line["time"] = time;
  line["level"] = level_name(level);
  line["event"] = event;
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  body_->line(to_text(line));
}

void Log::request(const RequestLine& request) {
  std::string line = R"({"time":")";
  line.reserve(256);
  append_now(line);
  const auto out = std::back_inserter(line);
  fmt::format_to(
      out,
      R"(","level":"{}","event":"request","route":"{}","method":"{}","status":{},"ms":{:.3f},"bytes":{})",
      level_name(request.status >= 500 ? Level::error : Level::info), request.route, request.method,
      request.status, request.seconds * 1e3, request.bytes);
  if (!request.key.empty()) fmt::format_to(out, R"(,"key":{})", to_text(Json(request.key)));
  if (!request.refused.empty()) fmt::format_to(out, R"(,"refused":"{}")", request.refused);
  fmt::format_to(out, R"(,"trace":"{}"}})", request.trace);
  body_->line(line);
}

std::uint64_t Log::dropped() const {
  return body_->dropped();
}

bool RareEvents::is_due(std::string kind, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = told_.try_emplace(std::move(kind), now);
  if (!is_new && now - at->second < std::chrono::minutes(1)) return false;
  at->second = now;
  return true;
}

}  // namespace metafuse::service
