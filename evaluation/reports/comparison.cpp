#include <algorithm>
#include <cmath>
#include <map>

#include "evaluation/reports/report.h"
#include "evaluation/runs/lines.h"
#include "evaluation/significance/significance.h"

namespace metafuse::evaluation {
namespace {

/// The number of trials that keeps a randomised test within about a second, however many queries there are.
std::size_t trials_for(std::size_t work_per_trial, std::size_t most) {
  constexpr std::size_t kWork = 400'000'000;
  return std::clamp<std::size_t>(kWork / std::max<std::size_t>(1, work_per_trial), 1000, most);
}

struct Paired {
  std::vector<double> run;
  std::vector<double> baseline;
};

/// The values of the queries that both runs evaluated. Both query lists are sorted.
Paired paired_values(const RunEvaluation& run, const RunEvaluation& baseline, std::size_t column) {
  Paired paired;
  std::size_t j = 0;
  for (std::size_t i = 0; i < run.queries.size(); ++i) {
    while (j < baseline.queries.size() && baseline.queries[j] < run.queries[i]) ++j;
    if (j == baseline.queries.size()) break;
    if (baseline.queries[j] != run.queries[i]) continue;
    paired.run.push_back(run.value(i, column));
    paired.baseline.push_back(baseline.value(j, column));
  }
  return paired;
}

std::optional<double> p_of(const std::string& test, const Paired& paired, std::uint64_t seed) {
  if (test == "t") return paired_t_test(paired.run, paired.baseline);
  if (test == "wilcoxon") return wilcoxon_test(paired.run, paired.baseline);
  return randomisation_test(paired.run, paired.baseline, seed, trials_for(paired.run.size(), 100000));
}

Comparison compare(const Report& report, const RunEvaluation& run, const RunEvaluation& baseline,
                   std::size_t column, const ComparisonOptions& options) {
  const Paired paired = paired_values(run, baseline, column);
  const bool is_cost = report.set.measure_of(column).is_cost;
  Comparison c;
  c.run = run.run;
  c.measure = report.set.names[column];
  std::vector<double> d;
  for (std::size_t i = 0; i < paired.run.size(); ++i) {
    d.push_back(paired.run[i] - paired.baseline[i]);
    const double gain = is_cost ? -d.back() : d.back();
    ++(std::abs(gain) <= 1e-12 ? c.ties : gain > 0.0 ? c.wins : c.losses);
  }
  for (const double value : d) c.difference += value / static_cast<double>(d.size());
  const Interval interval = bootstrap_interval(d, options.seed, trials_for(d.size() * 4, 10000));
  c.low = interval.low;
  c.high = interval.high;
  c.p = p_of(options.test, paired, options.seed);
  return c;
}

/// Tukey's p value of every run against the baseline on one column; requires that all runs have the
/// same queries.
std::vector<double> tukey_against(const Report& report, std::size_t baseline, std::size_t column,
                                  std::uint64_t seed) {
  std::vector<std::vector<double>> samples;
  for (const RunEvaluation& run : report.runs) samples.push_back(run.column(column));
  const std::size_t systems = samples.size();
  const std::vector<double> all =
      tukey_hsd(samples, seed, trials_for(40 * systems * samples[0].size(), 10000));
  std::vector<double> out(systems, 1.0);
  std::size_t pair = 0;
  for (std::size_t i = 0; i < systems; ++i)
    for (std::size_t j = i + 1; j < systems; ++j, ++pair)
      if (i == baseline || j == baseline) out[i == baseline ? j : i] = all[pair];
  return out;
}

void correct(std::vector<Comparison>& comparisons) {
  std::vector<double> p;
  for (const Comparison& c : comparisons)
    if (c.p) p.push_back(*c.p);
  const std::vector<double> by_holm = holm(p);
  const std::vector<double> by_bonferroni = bonferroni(p);
  std::size_t i = 0;
  for (Comparison& c : comparisons) {
    if (!c.p) continue;
    c.p_holm = by_holm[i];
    c.p_bonferroni = by_bonferroni[i++];
  }
}

struct Reference {
  double mean = 0.0;
  double deviation = 0.0;
};

using References = std::map<std::pair<std::string, std::string>, Reference>;

Result<References> read_references(const std::string& path) {
  References references;
  const auto take = [&](std::span<const std::string_view> fields, std::size_t) -> Result<void> {
    Reference reference;
    if (fields.size() != 4 || !to_double(fields[2], reference.mean) ||
        !to_double(fields[3], reference.deviation) || !std::isfinite(reference.mean) ||
        !std::isfinite(reference.deviation))
      return fail(Code::bad_data, "not a line `query measure mean deviation`");
    references[{std::string(fields[0]), std::string(fields[1])}] = reference;
    return {};
  };
  TRY_VOID(for_each_record(path, take, Comments::none));
  if (references.empty())
    return fail(Code::bad_data,
                path + ": contains no line `query measure mean deviation`; is it the right file?");
  return references;
}

double z_score(double value, const Reference* reference) {
  if (reference == nullptr) return kMissingZScore;
  if (reference->deviation != 0.0) return (value - reference->mean) / reference->deviation;
  return value == reference->mean ? 0.0 : kMissingZScore;
}

}  // namespace

Result<void> compare_with_baseline(Report& report, const ComparisonOptions& options) {
  if (options.test != "t" && options.test != "wilcoxon" && options.test != "randomisation")
    return fail(Code::usage, "no test " + shown(options.test) + "; use t, wilcoxon or randomisation");
  const auto at = std::ranges::find(report.runs, options.baseline, &RunEvaluation::run);
  if (at == report.runs.end()) {
    std::string names;
    for (const RunEvaluation& run : report.runs) names += (names.empty() ? "" : ", ") + run.run;
    return fail(Code::usage, "--compare: no run is named " + shown(options.baseline) + "; the runs are " +
                                 names + " (a run is named by its tag, or by NAME=FILE)");
  }
  const auto baseline = static_cast<std::size_t>(at - report.runs.begin());
  report.baseline = options.baseline;
  report.test = options.test;
  const bool has_tukey = report.runs.size() > 2 && std::ranges::all_of(report.runs, [&](const auto& run) {
                           return run.queries == at->queries;
                         });
  for (std::size_t column = 0; column < report.set.size(); ++column) {
    const Measure& measure = report.set.measure_of(column);
    if (measure.is_count || measure.is_text()) continue;
    std::vector<double> tukey;
    if (has_tukey) tukey = tukey_against(report, baseline, column, options.seed);
    for (std::size_t run = 0; run < report.runs.size(); ++run) {
      if (run == baseline) continue;
      if (paired_values(report.runs[run], *at, column).run.empty())
        return fail(Code::bad_data, report.runs[run].run + ": shares no query with " + options.baseline);
      Comparison c = compare(report, report.runs[run], *at, column, options);
      if (has_tukey) c.p_tukey = tukey[run];
      report.comparisons.push_back(std::move(c));
    }
  }
  correct(report.comparisons);
  return {};
}

Result<void> convert_to_z_scores(const std::string& path, const MeasureSet& set, RunEvaluation& evaluation) {
  TRY(auto references, read_references(path));
  for (std::size_t query = 0; query < evaluation.queries.size(); ++query)
    for (std::size_t column = 0; column < set.size(); ++column) {
      const auto at = references.find({evaluation.queries[query], set.names[column]});
      double& value = evaluation.values[query * set.size() + column];
      value = z_score(value, at == references.end() ? nullptr : &at->second);
    }
  summarise(evaluation, set, {});
  return {};
}

}  // namespace metafuse::evaluation
