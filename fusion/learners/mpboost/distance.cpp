#include "fusion/learners/mpboost/distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "core/number.h"
#include "core/text_file.h"

namespace metafuse::fusion::mpboost {
namespace {

struct DistanceRow {
  Distance kind;
  std::string_view name;
  double parameter;  ///< the default
  std::vector<double> grid;
};

const std::array<DistanceRow, 6>& distance_rows() {
  static const std::array<DistanceRow, 6> rows = {{
      {Distance::binary, "binary", 1.0, {1.0}},
      {Distance::ldd, "ldd", 0.2, {0.05, 0.1, 0.2, 0.35, 0.5}},
      {Distance::logdd, "logdd", 0.35, {0.05, 0.1, 0.2, 0.35, 0.5}},
      {Distance::logitdd, "logitdd", 0.5, {0.25, 0.5, 1.0, 2.0}},
      {Distance::constant, "constant", 0.5, {0.1, 0.2, 0.35, 0.5, 0.7, 1.0}},
      {Distance::table, "table", 1.0, {1.0}},
  }};
  return rows;
}

const DistanceRow& row_of(Distance kind) {
  return *std::find_if(distance_rows().begin(), distance_rows().end(),
                       [kind](const DistanceRow& row) { return row.kind == kind; });
}

/// Evaluates "0.7", or "logdd:0.35" for the difference; 0 or less if the text is neither.
double distance_in(const std::string& text, double difference) {
  double value = 0.0;
  if (to_double(text, value)) return value;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const DistanceRow& row : distance_rows()) {
    if (row.name != name || row.kind == Distance::table) continue;
    double parameter = row.parameter;
    if (colon != std::string::npos && !to_double(text.substr(colon + 1), parameter)) return 0.0;
    return parameter > 0.0 ? directed_distance(row.kind, parameter, difference) : 0.0;
  }
  return 0.0;
}

}  // namespace

double directed_distance(Distance kind, double parameter, double difference) {
  switch (kind) {
    case Distance::ldd:
      return parameter * difference;
    case Distance::logdd:
      return std::log1p(parameter * difference);
    case Distance::logitdd:
      return 1.0 / (1.0 + std::exp(-parameter * difference));
    case Distance::constant:
      return parameter;
    case Distance::binary:
    case Distance::table:
      break;
  }
  return 1.0;
}

double default_parameter(Distance kind) {
  return row_of(kind).parameter;
}

std::vector<double> parameter_grid(Distance kind) {
  return row_of(kind).grid;
}

std::string_view distance_name(Distance kind) {
  return row_of(kind).name;
}

Result<DistanceTable> read_distance_table(const std::string& path) {
  TRY(const auto text, read_text(path, std::size_t{1} << 20));
  DistanceTable table;
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const auto bad = [&](std::string_view what) {
      return fail(Code::bad_data, fmt::format("{}:{}: {}; a line is LOW HIGH DISTANCE, such as 0 2 0.7 or "
                                              "0 2 logdd:0.35",
                                              path, number, what));
    };
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.empty()) continue;
    double low = 0.0;
    double high = 0.0;
    if (fields.size() != 3 || !to_double(fields[0], low) || !to_double(fields[1], high) ||
        !std::isfinite(low) || !std::isfinite(high))
      return bad("expected two grades and a distance");
    if (low >= high) return bad("the first grade must be below the second");
    const double distance = distance_in(fields[2], high - low);
    if (!(distance > 0.0) || !std::isfinite(distance)) return bad("the distance must be above 0");
    if (!table.emplace(std::pair(low, high), distance).second)
      return bad("these two grades already have a distance on an earlier line; remove one of the lines");
  }
  if (table.empty())
    return fail(Code::bad_data, path + ": contains no line with two grades and their distance");
  return table;
}

}  // namespace metafuse::fusion::mpboost
