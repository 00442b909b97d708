#pragma once

#include <string>
#include <utility>
#include <vector>

namespace metafuse::evaluation {

/// A number in the form that SVG attributes need.
/// in:     decimals - digits after the point
std::string svg_number(double value, int decimals = 1);

/// A number for readers: four significant digits, no negative zero.
std::string short_svg_number(double value);

/// The opening <svg> tag and title of a picture that uses the page's text colour and needs no style sheet.
std::string svg_opened(double width, double height, const std::string& title, int font_size = 12);

/// A text element at a position.
/// in:     anchor - "start", "middle" or "end"
std::string svg_text(double x, double y, const char* anchor, const std::string& words);

/// A rectangle.
/// in:     look - attributes such as `fill="#1f7fc4"`; inside - child elements, already escaped
std::string svg_bar(double x, double y, double width, double height, const std::string& look,
                    const std::string& inside = {});

/// The smallest and the largest of the values taken.
struct PlotRange {
  double low = 1e300;
  double high = -1e300;

  void take(double value);
  /// Where a value lies between low (0) and high (1); one half when the two are equal.
  double share(double value) const;
};

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  bool is_step = false;                  ///< the value stays constant up to the next x
  std::vector<double> half_widths = {};  ///< half of each point's interval; empty: no intervals are drawn
};

struct PlotText {
  std::string title;
  std::string x_name;
  std::string y_name;
  bool is_log_x = false;
};

/// An SVG line plot with axes, round ticks and a legend, to be embedded in a page: it uses the page's text
/// colour and needs no style sheet, and its curves differ by dashes as well as by colour. A curve of more
/// than 400 points is thinned out.
///
/// Requires at least one point; with is_log_x, every x > 0.
std::string svg_plot(const std::vector<Curve>& curves, const PlotText& text);

/// A self-contained page: a heading, tables as preformatted text, sentences as a list, and plots.
std::string html_page(const std::string& title, const std::string& table,
                      const std::vector<std::string>& plots, const std::vector<std::string>& sentences = {});

/// A bar chart as one <figure> with inline SVG, made for per-query differences: one bar per value, starting
/// at 0, in the given order.
std::string bar_plot(const std::string& caption, const std::string& x_label, const std::string& y_label,
                     const std::vector<std::pair<std::string, double>>& bars);

}  // namespace metafuse::evaluation
