#pragma once

#include <string>

namespace metafuse::evaluation {

/// A number as SVG's attributes take it. in: decimals - digits after the point
std::string svg_number(double value, int decimals = 1);

/// A number for people: four significant digits, no negative zero.
std::string short_svg_number(double value);

/// The opening tag of a picture that takes the page's text colour and needs no style sheet, with its title.
std::string svg_opened(double width, double height, const std::string& title, int font_size = 12);

/// Words at a place. in: anchor - "start", "middle" or "end"
std::string svg_text(double x, double y, const char* anchor, const std::string& words);

/// A rectangle. in: look - attributes such as `fill="#1f7fc4"`; inside - elements within it, escaped already
std::string svg_bar(double x, double y, double width, double height, const std::string& look,
                    const std::string& inside = {});

/// The smallest and the largest of what it took.
struct PlotRange {
  double low = 1e300;
  double high = -1e300;

  void take(double value);
  /// Where a value lies between low and high; one half when they are the same.
  double share(double value) const;
};

/// 1, 2 or 5 times a power of ten, so that about five steps fill the range.
double round_step(const PlotRange& range);

}  // namespace metafuse::evaluation
