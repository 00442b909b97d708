// Measures what reading costs: for each way in, inputs grow from 1 kB to the real limit by repeating pieces
// of its grammar, and the processor time of reading them is fitted by bytes^exponent. Reading must be linear:
// an exponent above 1.15 fails, and so does more time or memory per byte than the way's stated constants.
//
//     cost [--short] [--table] [NAME]      NAME: only ways and growths whose name contains it

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include <malloc.h>
#include <time.h>

#include "fuzz/cost/ways.h"
#include "tests/fetchers/calling/holdings.h"

namespace {

using metafuse::cost::Growth;
using metafuse::cost::Way;

constexpr double kMaxExponent = 1.15;
constexpr double kMaxShortExponent = 1.3;  // far below a square, above noise
constexpr std::size_t kStep = 8;
constexpr double kLeastSeconds = 0.001;                    // below it, what every call costs hides the growth
constexpr std::size_t kFreeMemory = std::size_t{8} << 20;  // what any reading may take; smaller than noise
constexpr double kLongestSeconds = 3;  // of one reading; larger inputs would say nothing new
#ifdef __OPTIMIZE__
constexpr double kSlower = 1;
#else
constexpr double kSlower = 20;  // the constants are those of an optimised build
#endif

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Sizes {
  std::size_t smallest, largest;
  int repeats;
  /// The short form reads so little beside other tests that it can only see what is far too much: it allows
  /// several times the stated time and does not judge memory.
  bool is_short = false;
};

struct Point {
  std::size_t bytes = 0;
  std::string text;
  double seconds = std::numeric_limits<double>::infinity();
};

/// How far the peak of resident memory rises above what is resident before, in bytes.
std::size_t peak_of(const Way& way, const std::string& text) {
  malloc_trim(0);
  metafuse::test::reset_peak();
  const long before = metafuse::test::peak_kilobytes();
  way.read(text);
  return static_cast<std::size_t>(metafuse::test::peak_kilobytes() - before) * 1024;
}

void measure(const Way& way, Point& point) {
  const double begin = processor_seconds();
  way.read(point.text);
  point.seconds = std::min(point.seconds, processor_seconds() - begin);
}

/// The slope of log(seconds) by log(bytes), by least squares; 0 if too few points take measurable time.
double exponent_of(const std::vector<Point>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& point : points) {
    if (point.seconds < kLeastSeconds) continue;
    const double a = std::log(static_cast<double>(point.bytes)), b = std::log(point.seconds);
    n += 1, x += a, y += b, xx += a * a, xy += a * b;
  }
  return n < 2 ? 0 : (n * xy - x * y) / (n * xx - x * x);
}

struct Cost {
  double exponent = 0, ns_per_byte = 0, memory_per_byte = 0;

  bool is_good(const Way& way, const Sizes& sizes) const {
    if (sizes.is_short) return exponent <= kMaxShortExponent && ns_per_byte <= 4 * way.ns_per_byte * kSlower;
    return exponent <= kMaxExponent && ns_per_byte <= way.ns_per_byte * kSlower &&
           memory_per_byte <= way.memory_per_byte;
  }
};

/// Minima over several readings in turn; more of them as long as the result looks bad, because others
/// may have disturbed the first.
Cost cost_of(const Way& way, const Growth& growth, const Sizes& sizes) {
  std::vector<Point> points;
  const std::size_t largest = std::min(sizes.largest, way.limit);
  for (std::size_t bytes = largest; bytes >= std::min(sizes.smallest, largest / kStep); bytes /= kStep)
    points.push_back({bytes, grown(growth, growth.before.size() + bytes)});
  for (Point& point : points)
    point.bytes = point.text.size();  // a piece may be larger than the input should be
  std::reverse(points.begin(), points.end());
  const std::size_t peak = peak_of(way, points.back().text);
  Cost cost;
  cost.memory_per_byte = static_cast<double>(peak > kFreeMemory ? peak - kFreeMemory : 0) /
                         static_cast<double>(points.back().bytes);
  for (int round = 0; round < 4 * sizes.repeats; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i > 0 && points[i - 1].seconds * kStep > kLongestSeconds) points.resize(i);
      if (i < points.size()) measure(way, points[i]);
    }
    const Point& last = points.back();
    cost.exponent = exponent_of(points);
    cost.ns_per_byte = last.seconds * 1e9 / static_cast<double>(last.bytes);
    if (cost.is_good(way, sizes) && round + 1 >= sizes.repeats) break;
  }
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes{1024, std::size_t{64} << 20, 3, false};
  bool is_table = false;
  std::string wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--short") == 0)
      sizes = {std::size_t{8} << 10, std::size_t{64} << 10, 2, true};
    else if (std::strcmp(argv[i], "--table") == 0)
      is_table = true;
    else
      wanted = argv[i];
  }
  int failures = 0;
  if (is_table)
    std::printf(
        "| way in | limit, KiB | exponent | ns per byte, stated | memory per byte, stated "
        "|\n|---|---|---|---|---|\n");
  for (const Way& way : metafuse::cost::ways()) {
    Cost worst;
    for (const Growth& growth : way.growths) {
      const std::string name = way.name + ": " + growth.name;
      if (name.find(wanted) == std::string::npos) continue;
      const Cost cost = cost_of(way, growth, sizes);
      const bool is_bad = !cost.is_good(way, sizes);
      failures += is_bad ? 1 : 0;
      worst = {std::max(worst.exponent, cost.exponent), std::max(worst.ns_per_byte, cost.ns_per_byte),
               std::max(worst.memory_per_byte, cost.memory_per_byte)};
      if (!is_table || is_bad)
        std::printf("%-55s exponent %5.2f  %8.1f ns/byte  memory %5.1f%s\n", name.c_str(), cost.exponent,
                    cost.ns_per_byte, cost.memory_per_byte, is_bad ? "  TOO MUCH" : "");
      std::fflush(stdout);
    }
    if (is_table && worst.ns_per_byte > 0)
      std::printf("| %s | %zu | %.2f | %.0f, %.0f | %.0f, %.0f |\n", way.name.c_str(), way.limit / 1024,
                  worst.exponent, worst.ns_per_byte, way.ns_per_byte, worst.memory_per_byte,
                  way.memory_per_byte);
  }
  if (failures > 0) std::printf("%d ways of growing cost more than their size\n", failures);
  return failures > 0 ? 1 : 0;
}
