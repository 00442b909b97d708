#include "cli/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include <unistd.h>

namespace metafuse::cli {
namespace {

constexpr std::size_t kBarWidth = 30;

struct Bar {
  std::string label;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn{};
};

void draw(Bar& bar, std::size_t done, std::size_t total) {
  const auto now = std::chrono::steady_clock::now();
  const bool finished = total > 0 && done >= total;
  if (!finished && now - bar.drawn < std::chrono::milliseconds(100)) return;
  bar.drawn = now;
  if (finished) {
    std::fprintf(stderr, "\r\x1b[K");
    return;
  }
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0;
  const auto filled = std::min(kBarWidth, static_cast<std::size_t>(share * kBarWidth));
  const std::string shown = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  const double seconds = std::chrono::duration<double>(now - bar.started).count();
  const double left = share > 0.0 ? seconds / share - seconds : 0.0;
  std::fprintf(stderr, "\r\x1b[K%s [%s] %zu/%zu, %.0f s left", bar.label.c_str(), shown.c_str(), done, total,
               left);
  std::fflush(stderr);
}

}  // namespace

ProgressReport terminal_progress(std::string label) {
  if (::isatty(STDERR_FILENO) == 0) return {};
  auto bar = std::make_shared<Bar>();
  bar->label = std::move(label);
  return [bar](std::size_t done, std::size_t total) { draw(*bar, done, total); };
}

}  // namespace metafuse::cli
