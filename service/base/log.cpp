#include "service/base/log.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace metafuse::service {
namespace {

/// The time of day, its seconds written once a second.
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
  out += text.data();
  for (const char c : {'.', static_cast<char>('0' + ms / 100), static_cast<char>('0' + ms / 10 % 10),
                       static_cast<char>('0' + ms % 10), 'Z'})
    out += c;
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), written.ptr);
}

std::string_view name_of(Log::Level level) {
  if (level == Log::Level::info) return "info";
  return level == Log::Level::warning ? "warning" : "error";
}

}  // namespace

class Log::Body {
 public:
  Body() : logger_("metafuse", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_pattern("%v");
    logger_.flush_on(spdlog::level::info);
  }
  void line(const std::string& text) { logger_.info(text); }

 private:
  spdlog::logger logger_;
};

Log::Log() : body_(std::make_unique<Body>()) {}
Log::~Log() = default;

void Log::write(Level level, std::string_view event, JsonObject fields) {
  std::string time;
  append_now(time);
  JsonObject line;
  line["time"] = time;
  line["level"] = name_of(level);
  line["event"] = event;
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  body_->line(to_text(line));
}

void Log::request(const RequestLine& request) {
  std::string line = R"({"time":")";
  line.reserve(256);
  append_now(line);
  line += R"(","level":")";
  line += name_of(request.status >= 500 ? Level::error : Level::info);
  line += R"(","event":"request","route":")";
  line += request.route;
  line += R"(","method":")";
  line += request.method;
  line += R"(","status":)";
  append_number(line, request.status);
  line += R"(,"ms":)";
  append_number(line, std::round(request.seconds * 1e6) / 1e3);
  line += R"(,"bytes":)";
  append_number(line, request.bytes);
  if (!request.key.empty()) {
    line += R"(,"key":)";
    line += to_text(Json(request.key));
  }
  if (!request.refused.empty()) {
    line += R"(,"refused":")";
    line += request.refused;
    line += '"';
  }
  line += R"(,"trace":")";
  line += request.trace;
  body_->line(line += "\"}");
}

}  // namespace metafuse::service
