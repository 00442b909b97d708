#include "evaluation/reports/svg_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/encoding.h"

namespace metafuse::evaluation {

std::string svg_number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string short_svg_number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", std::abs(value) < 1e-12 ? 0.0 : value);
  return text;
}

std::string svg_opened(double width, double height, const std::string& title, int font_size) {
  const std::string words = xml_escaped(title);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(width, 0) + " " +
         svg_number(height, 0) + "\" role=\"img\" aria-label=\"" + words +
         "\" fill=\"currentColor\" font-family=\"sans-serif\" font-size=\"" + std::to_string(font_size) +
         "\">\n<title>" + words + "</title>\n";
}

std::string svg_text(double x, double y, const char* anchor, const std::string& words) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" + anchor + "\">" +
         xml_escaped(words) + "</text>\n";
}

std::string svg_bar(double x, double y, double width, double height, const std::string& look,
                    const std::string& inside) {
  const std::string begin = "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" +
                            svg_number(width) + "\" height=\"" + svg_number(height) + "\" " + look;
  return begin + (inside.empty() ? "/>\n" : ">" + inside + "</rect>\n");
}

void PlotRange::take(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

double PlotRange::share(double value) const {
  return high > low ? (value - low) / (high - low) : 0.5;
}

double round_step(const PlotRange& range) {
  const double rough = (range.high - range.low) / 5.0;
  if (!(rough > 0.0)) return 1.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10.0 * power;
}

}  // namespace metafuse::evaluation
