#include "service/pages/svg_views.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace metafuse::service {
namespace {

using evaluation::Curve;
using evaluation::svg_bar;
using evaluation::svg_number;
using evaluation::svg_text;

constexpr double kNames = 190;  ///< width of the column of names
constexpr double kWidth = 460;  ///< width of the longest bar
constexpr double kRow = 26;
constexpr double kTop = 34;
constexpr int kFont = 13;
constexpr const char* kBarLook = "fill=\"#1f7fc4\"";
constexpr const char* kMarkLook = "fill=\"#c8553d\"";
constexpr std::size_t kMostRows = 60;
constexpr std::size_t kNameLength = 26;

std::string short_name(const std::string& name) {
  return name.size() <= kNameLength ? name : std::string(truncate_utf8(name, kNameLength - 1)) + "…";
}

std::string opened_rows(std::size_t rows, const std::string& title) {
  return evaluation::svg_opened(800, kTop + kRow * static_cast<double>(rows) + 8, title, kFont) +
         svg_text(8, 16, "start", title);
}

}  // namespace

std::string decimals(double number, int count) {
  return fmt::format("{:.{}f}", number, count);
}

void add_plot(View& page, const std::vector<Curve>& curves, const evaluation::PlotText& text) {
  if (curves.empty() || curves.front().x.empty()) return;
  PlotTable table{text.title, {text.x_name}};
  for (const Curve& curve : curves) table.columns.push_back(curve.name);
  const std::size_t rows = curves.front().x.size();
  const std::size_t stride = std::max<std::size_t>(1, (rows + kMostRows - 1) / kMostRows);
  for (std::size_t i = 0; i < rows; i += stride) {
    auto& row = table.rows.emplace_back();
    row.push_back(decimals(curves.front().x[i], 0));
    for (const Curve& curve : curves) row.push_back(i < curve.y.size() ? decimals(curve.y[i], 4) : "");
  }
  add_picture(page, evaluation::svg_plot(curves, text), table);
}

std::string bars_svg(const std::vector<Bar>& bars, const std::string& title, bool has_marks) {
  double most = 0;
  for (const Bar& row : bars) most = std::max({most, row.value, has_marks ? row.mark : 0});
  const double scale = most > 0 ? kWidth / most : 0;
  std::string out = opened_rows(bars.size(), title);
  double y = kTop;
  for (const Bar& row : bars) {
    out += svg_text(kNames - 10, y + 15, "end", short_name(row.name));
    out += svg_bar(kNames, y + 4, row.value * scale, 14, kBarLook);
    if (has_marks) out += svg_bar(kNames + row.mark * scale - 1.5, y, 3, 22, kMarkLook);
    const double end = has_marks ? std::max(row.value, row.mark) : row.value;
    out += svg_text(kNames + end * scale + 8, y + 15, "start", row.text);
    y += kRow;
  }
  return out + "</svg>";
}

std::string intervals_svg(const std::vector<IntervalRow>& rows, const std::string& title) {
  evaluation::PlotRange range;
  for (const IntervalRow& row : rows) {
    range.take(row.low);
    range.take(row.high);
  }
  const auto place = [&](double value) { return kNames + kWidth * range.share(value); };
  std::string out = opened_rows(rows.size(), title);
  double y = kTop;
  for (const IntervalRow& row : rows) {
    out += svg_text(kNames - 10, y + 15, "end", short_name(row.name));
    out += svg_bar(place(row.low), y + 8, std::max(1.0, place(row.high) - place(row.low)), 6, kBarLook);
    out += svg_bar(place(row.middle) - 2, y + 3, 4, 16, kMarkLook);
    out += svg_text(kNames + kWidth + 12, y + 15, "start",
                    fmt::format("{} ± {}", evaluation::short_svg_number(row.middle),
                                evaluation::short_svg_number((row.high - row.low) / 2)));
    y += kRow;
  }
  return out + "</svg>";
}

void add_picture(View& page, const std::string& svg, const PlotTable& table) {
  View& plot = page.add("PLOT");
  plot.set("SVG", svg).set("CAPTION", table.title).set("X_NAME", table.columns.front());
  for (std::size_t i = 1; i < table.columns.size(); ++i) plot.add("CURVE").set("NAME", table.columns[i]);
  for (const auto& cells : table.rows) {
    View& row = plot.add("ROW");
    row.set("X", cells.front());
    for (std::size_t i = 1; i < cells.size(); ++i) row.add("VALUE").set("Y", cells[i]);
  }
}

}  // namespace metafuse::service
