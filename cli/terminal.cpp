#include "cli/terminal.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/color.h>
#include <unistd.h>

#include "fetchers/answers/answer_text.h"

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

std::optional<bool> chosen_colour;  // of --color always or never

bool has_colour(int stream) {
  if (chosen_colour) return *chosen_colour;
  const char* refused = std::getenv("NO_COLOR");  // https://no-color.org
  return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

fmt::text_style text_style_of(Style style) {
  switch (style) {
    case Style::heading:
      return fmt::emphasis::bold;
    case Style::link:
      return fmt::fg(fmt::terminal_color::cyan);
    case Style::faint:
      return fmt::emphasis::faint;
    case Style::good:
      return fmt::fg(fmt::terminal_color::green);
    case Style::warning:
      return fmt::fg(fmt::terminal_color::yellow);
    case Style::failure:
      return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);
  }
  return {};
}

}  // namespace

void choose_colour(const std::string& when) {
  if (when != "auto") chosen_colour = when == "always";
}

std::string styled(int stream, Style style, std::string_view text) {
  return has_colour(stream) ? fmt::format(text_style_of(style), "{}", text) : std::string(text);
}

bool is_terminal(int stream) {
  return ::isatty(stream) != 0;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    out += fetchers::printable(text.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    out += '\n';
    begin = end + 1;
  }
  return out;
}

ProgressReport terminal_progress(std::string label) {
  if (!is_terminal(STDERR_FILENO)) return {};
  auto bar = std::make_shared<Bar>();
  bar->label = std::move(label);
  return [bar](std::size_t done, std::size_t total) { draw(*bar, done, total); };
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789/._-+:,@%") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

volatile std::sig_atomic_t is_interrupted = 0;

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the program at once
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

bool was_interrupted() {
  return is_interrupted != 0;
}

}  // namespace metafuse::cli
