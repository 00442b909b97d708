#include "service/answers/bar_plot.h"

#include <algorithm>
#include <cstdio>

#include "service/answers/dialects.h"

namespace metafuse::service {
namespace {

constexpr double kNames = 190;  ///< width of the column of names
constexpr double kWidth = 460;  ///< of the longest bar
constexpr double kRow = 26;
constexpr double kTop = 34;

std::string number(double value, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string text_at(double x, double y, const char* anchor, const std::string& words) {
  return "<text x=\"" + number(x, 1) + "\" y=\"" + number(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         xml_escape(words) + "</text>\n";
}

std::string opened(double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 " + number(height, 0) +
         "\" role=\"img\" aria-label=\"" + xml_escape(title) +
         "\" fill=\"currentColor\" font-family=\"sans-serif\" font-size=\"13\">\n<title>" +
         xml_escape(title) + "</title>\n";
}

std::string bar(double x, double y, double width, double height, const char* look) {
  return "<rect x=\"" + number(x, 1) + "\" y=\"" + number(y, 1) + "\" width=\"" + number(width, 1) +
         "\" height=\"" + number(height, 1) + "\" " + look + "/>\n";
}

}  // namespace

std::string bar_plot(const std::vector<Bar>& bars, const std::string& title, const std::string& unit) {
  double most = 0;
  for (const Bar& row : bars) most = std::max({most, row.value, row.mark});
  const double scale = most > 0 ? kWidth / most : 0;
  std::string out = opened(kTop + kRow * static_cast<double>(bars.size()) + 8, title);
  out += text_at(8, 16, "start", title);
  double y = kTop;
  for (const Bar& row : bars) {
    out += text_at(kNames - 10, y + 15, "end", row.name);
    out += bar(kNames, y + 4, row.value * scale, 14, "fill=\"#1f7fc4\"");
    out += bar(kNames + row.mark * scale - 1.5, y, 3, 22, "fill=\"#c8553d\"");
    out += text_at(kNames + std::max(row.value, row.mark) * scale + 8, y + 15, "start",
                   number(row.value, 2) + " | " + number(row.mark, 1) + " " + unit);
    y += kRow;
  }
  return out + "</svg>";
}

std::string interval_plot(double low, double share, double high, const std::string& title) {
  constexpr double kLeft = 20;
  constexpr double kSpan = 560;
  const auto place = [](double value) { return kLeft + kSpan * std::clamp(value, 0.0, 1.0); };
  std::string out = opened(64, title);
  out += bar(kLeft, 27, kSpan, 2, "fill-opacity=\".3\"");
  out += bar(place(0.5) - 1, 16, 2, 24, "fill-opacity=\".6\"");
  out += bar(place(low), 22, std::max(2.0, place(high) - place(low)), 12, "fill=\"#1f7fc4\" rx=\"3\"");
  out += bar(place(share) - 2, 16, 4, 24, "fill=\"#c8553d\"");
  out += text_at(kLeft, 58, "start", "champion wins all") + text_at(place(0.5), 58, "middle", "even");
  return out + text_at(kLeft + kSpan, 58, "end", "challenger wins all") + "</svg>";
}

}  // namespace metafuse::service
