#include "evaluation/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/contract.h"

namespace metafuse::evaluation {
namespace {

constexpr double kLeft = 64.0;
constexpr double kTop = 52.0;
constexpr double kWidth = 520.0;
constexpr double kHeight = 280.0;
constexpr std::size_t kMostPoints = 400;
// Middling colours that keep a contrast of 3 on white and on near-black.
constexpr std::array kColours = {"#1f7fc4", "#c8553d", "#2f8f5b", "#8e63c7", "#b07d10", "#3a8a99", "#7b8794"};
constexpr std::array kDashes = {"", "6 3", "2 3", "9 3 2 3"};

std::string fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

std::string short_number(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", std::abs(number) < 1e-12 ? 0.0 : number);
  return text;
}

struct Range {
  double low = 1e300;
  double high = -1e300;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// 1, 2 or 5 times a power of ten, so that about five steps fill the range.
double round_step(const Range& range) {
  const double rough = (range.high - range.low) / 5.0;
  if (!(rough > 0.0)) return 1.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10.0 * power;
}

std::string label(double x, double y, const char* anchor, const std::string& words) {
  return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escaped_html(words) + "</text>\n";
}

/// Where values stand on the drawing.
struct Frame {
  Range xs;
  Range ys;
  bool is_log_x = false;

  double place(double x) const { return is_log_x ? std::log10(x) : x; }
  double left(double x) const { return kLeft + kWidth * xs.share(place(x)); }
  double top(double y) const { return kTop + kHeight * (1.0 - ys.share(y)); }
};

std::string grid(const Frame& frame) {
  std::string out;
  const double y_step = round_step(frame.ys);
  for (double y = std::ceil(frame.ys.low / y_step) * y_step; y <= frame.ys.high + y_step * 1e-9;
       y += y_step) {
    out += label(kLeft - 8, frame.top(y) + 4, "end", short_number(y));
    out += "<path stroke=\"currentColor\" stroke-opacity=\".18\" d=\"M" + fixed(kLeft, 1) + " " +
           fixed(frame.top(y), 1) + "h" + fixed(kWidth, 1) + "\"/>\n";
  }
  const double x_step = frame.is_log_x ? 1.0 : round_step(frame.xs);
  for (double x = std::ceil(frame.xs.low / x_step) * x_step; x <= frame.xs.high + x_step * 1e-9; x += x_step)
    out += label(kLeft + kWidth * frame.xs.share(x), kTop + kHeight + 18, "middle",
                 short_number(frame.is_log_x ? std::pow(10.0, x) : x));
  return out;
}

std::string points_of(const Curve& curve, const Frame& frame) {
  const std::size_t stride = std::max<std::size_t>(1, (curve.x.size() + kMostPoints - 1) / kMostPoints);
  std::string points;
  for (std::size_t i = 0; i < curve.x.size(); i += stride) {
    if (i + stride >= curve.x.size()) i = curve.x.size() - 1;  // the last point is always drawn
    const std::string x = fixed(frame.left(curve.x[i]), 1);
    if (curve.is_step && i > 0)
      points += x + "," + fixed(frame.top(curve.y[i - std::min(i, stride)]), 1) + " ";
    points += x + "," + fixed(frame.top(curve.y[i]), 1) + " ";
  }
  return points;
}

}  // namespace

std::string escaped_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text) {
  Frame frame;
  frame.is_log_x = text.is_log_x;
  for (const Curve& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      frame.xs.take(frame.place(curve.x[i]));
      frame.ys.take(curve.y[i]);
    }
  require(frame.xs.low <= frame.xs.high, "a plot needs a point");
  const double height =
      std::max(kTop + kHeight + 50.0, kTop + 30.0 + 18.0 * static_cast<double>(curves.size()));
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 " + fixed(height, 0) +
                    "\" role=\"img\" aria-label=\"" + escaped_html(text.title) +
                    "\" fill=\"currentColor\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" +
                    escaped_html(text.title) + "</title>\n" + label(8, 16, "start", text.title);
  out += grid(frame);
  out += label(kLeft + kWidth / 2, kTop + kHeight + 38, "middle", text.x_name);
  out += label(8, kTop - 8, "start", text.y_name);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string stroke = std::string("fill=\"none\" stroke-width=\"2\" stroke=\"") +
                               kColours[c % kColours.size()] + "\" stroke-dasharray=\"" +
                               kDashes[c % kDashes.size()] + "\"";
    out += "<polyline " + stroke + " points=\"" + points_of(curves[c], frame) + "\"/>\n";
    const double y = kTop + 14.0 + 18.0 * static_cast<double>(c);
    out += "<path " + stroke + " d=\"M" + fixed(kLeft + kWidth + 14, 1) + " " + fixed(y - 4, 1) +
           "h24\"/>\n" + label(kLeft + kWidth + 44, y, "start", curves[c].name);
  }
  return out + "</svg>\n";
}

std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots, const std::vector<std::string>& sentences) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
      "content=\"light "
      "dark\"><title>" +
      escaped_html(title) +
      "</title>\n<style>body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 "
      "1em}pre{overflow-x:auto}</style>\n<h1>" +
      escaped_html(title) + "</h1>\n<pre>" + escaped_html(table) + "</pre>\n";
  if (!sentences.empty()) {
    out += "<ul>\n";
    for (const std::string& sentence : sentences) out += "<li>" + escaped_html(sentence) + "</li>\n";
    out += "</ul>\n";
  }
  for (const std::string& plot : plots) out += plot;
  return out + "</html>\n";
}

}  // namespace metafuse::evaluation
