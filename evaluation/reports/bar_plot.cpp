#include "evaluation/reports/bar_plot.h"

#include <algorithm>
#include <cmath>

#include "core/encoding.h"
#include "evaluation/reports/svg_shapes.h"

namespace metafuse::evaluation {
namespace {

constexpr double kBarPlotWidth = 640.0;
constexpr double kBarPlotHeight = 320.0;
constexpr double kBarPlotLeft = 60.0;
constexpr double kRight = 12.0;
constexpr double kBarPlotTop = 12.0;
constexpr double kBottom = 44.0;
constexpr double kGap = 0.1;  ///< between bars, of a bar's place

// Okabe, Ito 2008: told apart by colour-blind readers too.
constexpr const char* kGain = "fill=\"#0072B2\"";
constexpr const char* kLoss = "fill=\"#D55E00\"";

double top_of(const PlotRange& values, double value) {
  return kBarPlotTop + (kBarPlotHeight - kBarPlotTop - kBottom) * (1.0 - values.share(value));
}

std::string line(double x, double y, const std::string& to, const char* opacity) {
  return "<path stroke=\"currentColor\" stroke-opacity=\"" + std::string(opacity) + "\" d=\"M" +
         svg_number(x) + " " + svg_number(y) + to + "\"/>\n";
}

std::string axes(const PlotRange& values, const std::string& x_label, const std::string& y_label) {
  std::string out;
  const double step = round_step(values);
  const std::string across = "h" + svg_number(kBarPlotWidth - kBarPlotLeft - kRight);
  for (double v = std::ceil(values.low / step) * step; v <= values.high + 1e-9 * step; v += step) {
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
