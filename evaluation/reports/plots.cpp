#include "evaluation/reports/plots.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/encoding.h"

namespace metafuse::evaluation {

std::string svg_number(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string short_svg_number(double value) {
  return fmt::format("{:.4g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

std::string svg_opened(double width, double height, const std::string& title, int font_size) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" role="img" aria-label="{2}" )"
      R"(fill="currentColor" font-family="sans-serif" font-size="{3}">)"
      "\n<title>{2}</title>\n",
      width, height, xml_escaped(title), font_size);
}

std::string svg_text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     xml_escaped(words));
}

std::string svg_bar(double x, double y, double width, double height, const std::string& look,
                    const std::string& inside) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}{}\n", x, y, width,
                     height, look, inside.empty() ? "/>" : ">" + inside + "</rect>");
}

void PlotRange::take(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

double PlotRange::share(double value) const {
  return high > low ? (value - low) / (high - low) : 0.5;
}

namespace {

constexpr double kMostMarks = 20.0;  // on an axis

/// 1, 2 or 5 times a power of ten, chosen so that about five steps fill the range.
double round_step(const PlotRange& range) {
  const double rough = (range.high - range.low) / 5.0;
  if (!(rough > 0.0)) return 1.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10.0 * power;
}

/// The multiples of a step within a range. They are counted, because a step may be too small to be added.
std::vector<double> marks_of(const PlotRange& range, double step) {
  const double first = std::ceil(range.low / step);
  const double count = std::min(kMostMarks, std::floor(range.high / step + 1e-9) - first + 1.0);
  std::vector<double> marks;
  for (double i = 0.0; i < count; i += 1.0) marks.push_back((first + i) * step);
  return marks;
}

constexpr double kLeft = 64.0;
constexpr double kTop = 52.0;
constexpr double kWidth = 520.0;
constexpr double kHeight = 280.0;
constexpr std::size_t kMostPoints = 400;
// Medium-bright colours with a contrast of at least 3 to both white and near-black.
constexpr std::array kColours = {"#1f7fc4", "#c8553d", "#2f8f5b", "#8e63c7", "#b07d10", "#3a8a99", "#7b8794"};
constexpr std::array kDashes = {"", "6 3", "2 3", "9 3 2 3"};

/// Maps values to positions in the drawing.
struct Frame {
  PlotRange xs;
  PlotRange ys;
  bool is_log_x = false;

  double place(double x) const { return is_log_x ? std::log10(x) : x; }
  double left(double x) const { return kLeft + kWidth * xs.share(place(x)); }
  double top(double y) const { return kTop + kHeight * (1.0 - ys.share(y)); }
};

/// in: to - where the line goes from there, as a command of an SVG path
std::string line(double x, double y, const std::string& to, const char* opacity) {
  return fmt::format("<path stroke=\"currentColor\" stroke-opacity=\"{}\" d=\"M{:.1f} {:.1f}{}\"/>\n",
                     opacity, x, y, to);
}

std::string grid(const Frame& frame) {
  std::string out;
  for (const double y : marks_of(frame.ys, round_step(frame.ys))) {
    out += svg_text(kLeft - 8, frame.top(y) + 4, "end", short_svg_number(y));
    out += line(kLeft, frame.top(y), "h" + svg_number(kWidth), ".18");
  }
  const double x_step = frame.is_log_x ? 1.0 : round_step(frame.xs);
  for (const double x : marks_of(frame.xs, x_step))
    out += svg_text(kLeft + kWidth * frame.xs.share(x), kTop + kHeight + 18, "middle",
                    short_svg_number(frame.is_log_x ? std::pow(10.0, x) : x));
  return out;
}

std::string points_of(const Curve& curve, const Frame& frame) {
  const std::size_t stride = std::max<std::size_t>(1, (curve.x.size() + kMostPoints - 1) / kMostPoints);
  std::string points;
  for (std::size_t i = 0; i < curve.x.size(); i += stride) {
    if (i + stride >= curve.x.size()) i = curve.x.size() - 1;  // the last point is always drawn
    const std::string x = svg_number(frame.left(curve.x[i]), 1);
    if (curve.is_step && i > 0)
      points += x + "," + svg_number(frame.top(curve.y[i - std::min(i, stride)]), 1) + " ";
    points += x + "," + svg_number(frame.top(curve.y[i]), 1) + " ";
  }
  return points;
}

/// A vertical line per interval.
std::string intervals_of(const Curve& curve, const Frame& frame, const char* colour) {
  std::string path;
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.half_widths.size()); ++i)
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}", frame.left(curve.x[i]),
                        frame.top(curve.y[i] - curve.half_widths[i]),
                        frame.top(curve.y[i] + curve.half_widths[i]));
  if (path.empty()) return path;
  return fmt::format("<path stroke=\"{}\" stroke-opacity=\".6\" d=\"{}\"/>\n", colour, path);
}

constexpr double kBarPlotWidth = 640.0;
constexpr double kBarPlotHeight = 320.0;
constexpr double kBarPlotLeft = 60.0;
constexpr double kRight = 12.0;
constexpr double kBarPlotTop = 12.0;
constexpr double kBottom = 44.0;
constexpr double kGap = 0.1;  ///< between bars, as a share of the width per bar

// Okabe, Ito 2008: colour-blind readers can tell these apart.
constexpr const char* kGain = "fill=\"#0072B2\"";
constexpr const char* kLoss = "fill=\"#D55E00\"";

double top_of(const PlotRange& values, double value) {
  return kBarPlotTop + (kBarPlotHeight - kBarPlotTop - kBottom) * (1.0 - values.share(value));
}

std::string axes(const PlotRange& values, const std::string& x_label, const std::string& y_label) {
  std::string out;
  const std::string across = "h" + svg_number(kBarPlotWidth - kBarPlotLeft - kRight);
  for (const double v : marks_of(values, round_step(values))) {
    out += line(kBarPlotLeft, top_of(values, v), across, ".18");
    out += svg_text(kBarPlotLeft - 6, top_of(values, v) + 4, "end", short_svg_number(v));
  }
  out += line(kBarPlotLeft, kBarPlotHeight - kBottom, across, ".8");
  out += line(kBarPlotLeft, kBarPlotTop, "v" + svg_number(kBarPlotHeight - kBarPlotTop - kBottom), ".8");
  out += svg_text(0.5 * (kBarPlotLeft + kBarPlotWidth - kRight), kBarPlotHeight - 8, "middle", x_label);
  return out + "<text transform=\"translate(14 " + svg_number(0.5 * kBarPlotHeight) +
         ") rotate(-90)\" text-anchor=\"middle\">" + xml_escaped(y_label) + "</text>";
}

}  // namespace

std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text) {
  Frame frame;
  frame.is_log_x = text.is_log_x;
  for (const Curve& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      frame.xs.take(frame.place(curve.x[i]));
      const double half = i < curve.half_widths.size() ? curve.half_widths[i] : 0.0;
      frame.ys.take(curve.y[i] - half);
      frame.ys.take(curve.y[i] + half);
    }
  require(frame.xs.low <= frame.xs.high, "a plot needs a point");
  const double height =
      std::max(kTop + kHeight + 50.0, kTop + 30.0 + 18.0 * static_cast<double>(curves.size()));
  std::string out = svg_opened(800, height, text.title) + svg_text(8, 16, "start", text.title);
  out += grid(frame);
  out += svg_text(kLeft + kWidth / 2, kTop + kHeight + 38, "middle", text.x_name);
  out += svg_text(8, kTop - 8, "start", text.y_name);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string stroke = std::string("fill=\"none\" stroke-width=\"2\" stroke=\"") +
                               kColours[c % kColours.size()] + "\" stroke-dasharray=\"" +
                               kDashes[c % kDashes.size()] + "\"";
    out += "<polyline " + stroke + " points=\"" + points_of(curves[c], frame) + "\"/>\n";
    out += intervals_of(curves[c], frame, kColours[c % kColours.size()]);
    const double y = kTop + 14.0 + 18.0 * static_cast<double>(c);
    out += "<path " + stroke + " d=\"M" + svg_number(kLeft + kWidth + 14, 1) + " " + svg_number(y - 4, 1) +
           "h24\"/>\n" + svg_text(kLeft + kWidth + 44, y, "start", curves[c].name);
  }
  return out + "</svg>\n";
}

std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots, const std::vector<std::string>& sentences) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
      "content=\"light "
      "dark\"><title>" +
      xml_escaped(title) +
      "</title>\n<style>body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 "
      "1em}pre{overflow-x:auto}</style>\n<h1>" +
      xml_escaped(title) + "</h1>\n<pre>" + xml_escaped(table) + "</pre>\n";
  if (!sentences.empty()) {
    out += "<ul>\n";
    for (const std::string& sentence : sentences) out += "<li>" + xml_escaped(sentence) + "</li>\n";
    out += "</ul>\n";
  }
  for (const std::string& plot : plots) out += plot;
  return out + "</html>\n";
}

std::string bar_plot(const std::string& caption, const std::string& x_label, const std::string& y_label,
                     const std::vector<std::pair<std::string, double>>& bars) {
  if (bars.empty()) return "";
  PlotRange values{0.0, 0.0};
  for (const auto& bar : bars) values.take(bar.second);
  if (!(values.high > values.low)) values.high = values.low + 1.0;
  std::string out =
      "<figure>" + svg_opened(kBarPlotWidth, kBarPlotHeight, caption) + axes(values, x_label, y_label);
  const double place = (kBarPlotWidth - kBarPlotLeft - kRight) / static_cast<double>(bars.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [name, value] = bars[i];
    const double top = top_of(values, std::max(0.0, value));
    out += svg_bar(kBarPlotLeft + place * static_cast<double>(i), top, place * (1 - kGap),
                   top_of(values, std::min(0.0, value)) - top, value >= 0.0 ? kGain : kLoss,
                   "<title>" + xml_escaped(name) + ": " + short_svg_number(value) + "</title>");
  }
  return out + "</svg><figcaption>" + xml_escaped(caption) + "</figcaption></figure>\n";
}

}  // namespace metafuse::evaluation
