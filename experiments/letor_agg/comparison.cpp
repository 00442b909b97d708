#include "experiments/letor_agg/comparison.h"

#include <cstdio>

#include "evaluation/significance/significance.h"
#include "experiments/interval.h"

namespace metafuse::experiments::letor_agg {
namespace {

struct Difference {
  double mean = 0.0;
  evaluation::Interval interval;
  double p = 1.0;

  std::string text() const {
    char buffer[80];
    const std::string size = p < 0.0001 ? "< .0001" : fixed(p, 4);
    std::snprintf(buffer, sizeof buffer, "%+.4f [%+.4f, %+.4f] p %s", mean, interval.low, interval.high,
                  size.c_str());
    return buffer;
  }
};

Difference difference_of(const Values& ours, const Values& theirs, std::size_t measure, std::uint64_t seed) {
  std::vector<double> a, b, gain;
  for (std::size_t q = 0; q < ours.size(); ++q) {
    a.push_back(ours[q][measure]);
    b.push_back(theirs[q][measure]);
    gain.push_back(a.back() - b.back());
  }
  Difference difference;
  for (const double value : gain) difference.mean += value / static_cast<double>(gain.size());
  difference.interval = evaluation::bootstrap_interval(gain, 0.95, seed);
  difference.p = evaluation::randomisation_test(a, b, seed);
  return difference;
}

void describe_set(const std::string& set, const Outcome& outcome, const std::vector<Values>& values,
                  std::uint64_t seed, PaperReport& report, JsonArray& json) {
  std::vector<std::vector<std::string>> means = {
      {set + ", " + std::to_string(values[0].size()) + " queries"}};
  std::vector<std::vector<std::string>> gains = {{"ours less"}};
  for (const char* title : kMeasureTitles) {
    means[0].emplace_back(title);
    gains[0].emplace_back(title);
  }
  for (std::size_t method = 0; method < values.size(); ++method) {
    const std::vector<double> mean = mean_of(values[method]);
    means.push_back({outcome.methods[method]});
    if (method > 0) gains.push_back({outcome.methods[method]});
    for (std::size_t m = 0; m < kMeasureCount; ++m) {
      means.back().push_back(fixed(mean[m], 4));
      JsonObject row{{"set", set},
                     {"method", outcome.methods[method]},
                     {"measure", kMeasureTitles[m]},
                     {"mean", mean[m]}};
      if (method > 0) {
        const Difference difference = difference_of(values[0], values[method], m, seed);
        gains.back().push_back(difference.text());
        row["difference"] = difference.mean;
        row["interval"] = JsonArray{difference.interval.low, difference.interval.high};
        row["p"] = difference.p;
      }
      json.push_back(std::move(row));
    }
  }
  report.text += columns(means);
  if (values.size() > 1) report.text += columns(gains);
}

/// A method's values on the queries of both sets, set by set.
std::vector<Values> pooled(const Outcome& outcome) {
  std::vector<Values> all(outcome.methods.size());
  for (const char* set : kSets)
    for (std::size_t method = 0; method < all.size(); ++method) {
      const Values& values = outcome.by_set.at(set)[method];
      all[method].insert(all[method].end(), values.begin(), values.end());
    }
  return all;
}

}  // namespace

void describe(const Outcome& outcome, const std::string& field, std::uint64_t seed, PaperReport& report) {
  JsonArray json;
  for (const char* set : kSets) describe_set(set, outcome, outcome.by_set.at(set), seed, report, json);
  describe_set("both sets", outcome, pooled(outcome), seed, report, json);
  report.json[field] = std::move(json);
}

}  // namespace metafuse::experiments::letor_agg
