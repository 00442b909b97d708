#include "evaluation/reports/bar_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "evaluation/svg_plot.h"

namespace metafuse::evaluation {
namespace {

constexpr double kWidth = 640.0;
constexpr double kHeight = 320.0;
constexpr double kLeft = 60.0;
constexpr double kRight = 12.0;
constexpr double kTop = 12.0;
constexpr double kBottom = 44.0;

// Okabe, Ito 2008: told apart by colour-blind readers too.
constexpr const char* kGain = "#0072B2";
constexpr const char* kLoss = "#D55E00";

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

struct Range {
  double low = 0.0;
  double high = 1.0;
};

Range widened(Range range) {
  if (!(range.high > range.low)) range.high = range.low + 1.0;
  return range;
}

/// A step of 1, 2 or 5 times a power of ten that cuts the range into about five.
double tick_step(const Range& range) {
  const double raw = (range.high - range.low) / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10.0 * power;
}

/// Maps data to the picture.
struct Frame {
  Range x;
  Range y;
  double at_x(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double at_y(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" +
         escaped_html(text) + "</text>";
}

std::string line_between(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
         number(y2) + "\" " + style + "/>";
}

std::string axes(const Frame& frame, const std::string& x_label, const std::string& y_label) {
  std::string out;
  const double y_step = tick_step(frame.y);
  for (double v = std::ceil(frame.y.low / y_step) * y_step; v <= frame.y.high + 1e-9 * y_step; v += y_step) {
    out += line_between(kLeft, frame.at_y(v), kWidth - kRight, frame.at_y(v), "stroke=\"#ddd\"");
    out += text_at(kLeft - 6, frame.at_y(v) + 4, "end", number(std::abs(v) < 1e-12 ? 0.0 : v));
  }
  out += line_between(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "stroke=\"#333\"");
  out += line_between(kLeft, kTop, kLeft, kHeight - kBottom, "stroke=\"#333\"");
  out += text_at(0.5 * (kLeft + kWidth - kRight), kHeight - 8, "middle", x_label);
  out += "<text transform=\"translate(14 " + number(0.5 * kHeight) +
         ") rotate(-90)\" text-anchor=\"middle\">" + escaped_html(y_label) + "</text>";
  return out;
}

std::string figure(const std::string& caption, const std::string& inside) {
  return "<figure><svg role=\"img\" aria-label=\"" + escaped_html(caption) + "\" viewBox=\"0 0 " +
         number(kWidth) + " " + number(kHeight) + "\" font-size=\"12\" font-family=\"sans-serif\">" + inside +
         "</svg><figcaption>" + escaped_html(caption) + "</figcaption></figure>\n";
}

}  // namespace

std::string bar_plot(const std::string& caption, const std::string& x_label, const std::string& y_label,
                     const std::vector<std::pair<std::string, double>>& bars) {
  if (bars.empty()) return "";
  Frame frame{{0.0, static_cast<double>(bars.size())}, {0.0, 0.0}};
  for (const auto& bar : bars)
    frame.y = {std::min(frame.y.low, bar.second), std::max(frame.y.high, bar.second)};
  frame.y = widened(frame.y);
  std::string inside = axes(frame, x_label, y_label);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double left = frame.at_x(static_cast<double>(i));
    const double right = frame.at_x(static_cast<double>(i) + 0.9);
    const double top = frame.at_y(std::max(0.0, bars[i].second));
    const double bottom = frame.at_y(std::min(0.0, bars[i].second));
    inside += "<rect x=\"" + number(left) + "\" y=\"" + number(top) + "\" width=\"" + number(right - left) +
              "\" height=\"" + number(bottom - top) + "\" fill=\"" + (bars[i].second >= 0.0 ? kGain : kLoss) +
              "\"><title>" + escaped_html(bars[i].first) + ": " + number(bars[i].second) + "</title></rect>";
  }
  return figure(caption, inside);
}

}  // namespace metafuse::evaluation
