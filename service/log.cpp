#include "service/log.h"

#include <chrono>
#include <ctime>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace metafuse::service {
namespace {

std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t whole = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char tail[8];
  std::snprintf(tail, sizeof tail, ".%03dZ", static_cast<int>(ms));
  return std::string(text, length) + tail;
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
  JsonObject line;
  line["time"] = now_text();
  line["level"] = name_of(level);
  line["event"] = event;
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  body_->line(to_text(line));
}

}  // namespace metafuse::service
