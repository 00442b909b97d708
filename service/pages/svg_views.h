#pragma once

#include <string>
#include <vector>

#include "evaluation/reports/plots.h"
#include "service/pages/page.h"

// Plots for pages: SVG made by the server, each with its numbers in a table below it (the part PLOT of a
// page's template).

namespace metafuse::service {

/// A number with `count` digits after the decimal point.
std::string decimals(double number, int count);

/// Adds a plot of curves and the table of their points, thinned to at most sixty rows. Adds nothing if there
/// are no points.
void add_plot(View& page, const std::vector<evaluation::Curve>& curves, const evaluation::PlotText& text);

/// One row of a bar plot: a bar to `value` with a mark at `mark`.
struct Bar {
  std::string name;
  double value = 0;  ///< >= 0
  double mark = 0;   ///< >= 0
  std::string text;  ///< text beside the bar
};

/// An SVG of horizontal bars.
///
/// in: title - what screen readers say; has_marks - whether the rows' marks are drawn
std::string bars_svg(const std::vector<Bar>& bars, const std::string& title, bool has_marks = true);

/// One row of an interval plot: a point and its interval.
struct IntervalRow {
  std::string name;
  double low = 0;
  double middle = 0;
  double high = 0;
};
std::string intervals_svg(const std::vector<IntervalRow>& rows, const std::string& title);

/// A table of numbers below a picture. The first column names the rows.
struct PlotTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};
};
void add_picture(View& page, const std::string& svg, const PlotTable& table);

}  // namespace metafuse::service
