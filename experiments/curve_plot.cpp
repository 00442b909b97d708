#include "experiments/curve_plot.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "experiments/interval.h"

namespace metafuse::experiments {
namespace {

constexpr double kLeft = 60.0;
constexpr double kTop = 34.0;
constexpr double kWidth = 560.0;
constexpr double kHeight = 300.0;
constexpr const char* kColours[] = {"#1b6ca8", "#c0392b", "#1e8449", "#8e44ad",
                                    "#b9770e", "#117a65", "#566573"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
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

std::string label(double x, double y, const std::string& anchor, const std::string& words) {
  return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escaped(words) + "</text>\n";
}

std::string ticks(const Range& xs, const Range& ys, bool is_log_x) {
  std::string out;
  for (int i = 0; i <= 5; ++i) {
    const double share = i / 5.0;
    const double x = xs.low + share * (xs.high - xs.low);
    out += label(kLeft + share * kWidth, kTop + kHeight + 16, "middle",
                 fixed(is_log_x ? std::pow(10.0, x) : x, 0));
    const double at = kTop + kHeight * (1.0 - share);
    out += label(kLeft - 6, at + 4, "end", fixed(ys.low + share * (ys.high - ys.low), 2));
    out += "<path class=\"grid\" d=\"M" + fixed(kLeft, 1) + " " + fixed(at, 1) + "h" + fixed(kWidth, 1) +
           "\"/>\n";
  }
  return out;
}

}  // namespace

std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text) {
  const auto place = [&](double x) { return text.is_log_x ? std::log10(x) : x; };
  Range xs;
  Range ys;
  for (const Curve& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      xs.take(place(curve.x[i]));
      ys.take(curve.y[i]);
    }
  require(xs.low <= xs.high, "a plot needs a point");
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 390\" "
      "role=\"img\">\n<style>text{font:12px "
      "sans-serif}.grid{stroke:#ddd;fill:none}.line{fill:none;stroke-width:1.8}</style>\n<title>" +
      escaped(text.title) + "</title>\n" + label(kLeft, 20, "start", text.title);
  out += ticks(xs, ys, text.is_log_x);
  out += label(kLeft + kWidth / 2, kTop + kHeight + 36, "middle", text.x_name);
  out += label(6, kTop - 4, "start", text.y_name);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string colour = kColours[c % std::size(kColours)];
    std::string points;
    for (std::size_t i = 0; i < curves[c].x.size(); ++i)
      points += fixed(kLeft + kWidth * xs.share(place(curves[c].x[i])), 1) + "," +
                fixed(kTop + kHeight * (1.0 - ys.share(curves[c].y[i])), 1) + " ";
    out += "<polyline class=\"line\" stroke=\"" + colour + "\" points=\"" + points + "\"/>\n";
    const double y = kTop + 14.0 + 18.0 * static_cast<double>(c);
    out += "<path class=\"line\" stroke=\"" + colour + "\" d=\"M" + fixed(kLeft + kWidth + 12, 1) + " " +
           fixed(y - 4, 1) + "h18\"/>\n" + label(kLeft + kWidth + 36, y, "start", curves[c].name);
  }
  return out + "</svg>\n";
}

std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + escaped(title) +
                    "</title>\n<style>body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 "
                    "1em}pre{overflow-x:auto}</style>\n<h1>" +
                    escaped(title) + "</h1>\n<pre>" + escaped(table) + "</pre>\n";
  for (const std::string& plot : plots) out += plot;
  return out + "</html>\n";
}

}  // namespace metafuse::experiments
