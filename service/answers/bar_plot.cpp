#include "service/answers/bar_plot.h"

#include <algorithm>

#include "evaluation/reports/plots.h"

namespace metafuse::service {
namespace {

using evaluation::svg_bar;
using evaluation::svg_number;
using evaluation::svg_text;

constexpr double kNames = 190;  ///< width of the column of names
constexpr double kWidth = 460;  ///< of the longest bar
constexpr double kRow = 26;
constexpr double kTop = 34;
constexpr int kFont = 13;
constexpr const char* kBar = "fill=\"#1f7fc4\"";
constexpr const char* kMark = "fill=\"#c8553d\"";

std::string opened(double height, const std::string& title) {
  return evaluation::svg_opened(800, height, title, kFont);
}

}  // namespace

std::string bar_plot(const std::vector<Bar>& bars, const std::string& title, const std::string& unit) {
  double most = 0;
  for (const Bar& row : bars) most = std::max({most, row.value, row.mark});
  const double scale = most > 0 ? kWidth / most : 0;
  std::string out = opened(kTop + kRow * static_cast<double>(bars.size()) + 8, title);
  out += svg_text(8, 16, "start", title);
  double y = kTop;
  for (const Bar& row : bars) {
    out += svg_text(kNames - 10, y + 15, "end", row.name);
    out += svg_bar(kNames, y + 4, row.value * scale, 14, kBar);
    out += svg_bar(kNames + row.mark * scale - 1.5, y, 3, 22, kMark);
    out += svg_text(kNames + std::max(row.value, row.mark) * scale + 8, y + 15, "start",
                    svg_number(row.value, 2) + " | " + svg_number(row.mark, 1) + " " + unit);
    y += kRow;
  }
  return out + "</svg>";
}

std::string interval_plot(double low, double share, double high, const std::string& title) {
  constexpr double kLeft = 20;
  constexpr double kSpan = 560;
  const auto place = [](double value) { return kLeft + kSpan * std::clamp(value, 0.0, 1.0); };
  std::string out = opened(64, title);
  out += svg_bar(kLeft, 27, kSpan, 2, "fill-opacity=\".3\"");
  out += svg_bar(place(0.5) - 1, 16, 2, 24, "fill-opacity=\".6\"");
  out +=
      svg_bar(place(low), 22, std::max(2.0, place(high) - place(low)), 12, std::string(kBar) + " rx=\"3\"");
  out += svg_bar(place(share) - 2, 16, 4, 24, kMark);
  out += svg_text(kLeft, 58, "start", "champion wins all") + svg_text(place(0.5), 58, "middle", "even");
  return out + svg_text(kLeft + kSpan, 58, "end", "challenger wins all") + "</svg>";
}

}  // namespace metafuse::service
