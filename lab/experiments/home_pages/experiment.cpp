// The home-page task of Freund et al. 2003 (sec. 2.1 and 6.1) on a Debian package index: RankBoost against
// unsupervised fusion and every search template alone, four-fold cross-validated, over five samples of 1,200
// base queries. The samples have the seeds after options.seed; the templates were designed on seed 1 alone.
// Quick: one sample. About 10 s per sample on two cores.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fusion/training/cross_validation.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/report.h"

namespace metafuse::lab::experiments {
namespace home_pages {
namespace {

constexpr std::array kTops = {1, 2, 5, 10, 20, 30};
constexpr std::size_t kRankColumn = kTops.size();
constexpr std::size_t kFolds = 4;
constexpr std::size_t kSamples = 5;
constexpr std::uint64_t kDesignSeed = 1;

/// In one sample, the six top-k counts and the average rank of each method.
struct Sample {
  std::uint64_t seed = 0;
  std::size_t answerable = 0;
  std::size_t unanswerable = 0;
  Figures methods = {};                    ///< RankBoost, then the baselines
  Figures templates = {};                  ///< each template alone
  std::vector<double> best_template = {};  ///< in each column, chosen on the test data as in the paper
};

/// Whether the first value of a column is at least as good: counts should be high, the average rank low.
bool at_least(std::size_t column, double a, double b) {
  return column == kRankColumn ? a <= b : a >= b;
}

std::vector<double> best_of(const Figures& figures) {
  std::vector<double> best = figures.rows.front().second;
  for (const auto& [name, row] : figures.rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      if (at_least(column, row[column], best[column])) best[column] = row[column];
  return best;
}

/// In how many of the seven columns RankBoost is at least as good as every other method and every template.
std::size_t columns_led(const Sample& sample) {
  const std::vector<double>& own = sample.methods.rows.front().second;
  const std::vector<double> best = best_of(sample.methods);
  std::size_t led = 0;
  for (std::size_t column = 0; column < own.size(); ++column)
    led += at_least(column, own[column], best[column]) &&
           at_least(column, own[column], sample.best_template[column]);
  return led;
}

void add_ranks(const std::string& name, const fusion::MethodRanks& ranks, Figures& figures) {
  std::vector<double> row;
  for (const int k : kTops) row.push_back(static_cast<double>(ranks.top(k)));
  row.push_back(ranks.average_rank());
  figures.add(name, std::move(row));
}

Result<Sample> run_sample(const IndexedPages& pages, const ExperimentOptions& experiment,
                          std::uint64_t seed) {
  SampleOptions sampling;
  sampling.seed = seed;
  TRY(auto set, pages.record(sampling, experiment.threads));
  TRY(auto part_of, random_parts(set, kFolds, seed));
  fusion::CrossValidationOptions options;
  options.learner = fusion::find_learner("rankboost");
  options.learner_options = {{"rounds", std::to_string(kDemonstrationRounds)}};
  options.baselines = fusion::rank_baselines();
  options.depth = pages.domain().depth;
  options.seed = seed;
  options.threads = experiment.threads;
  TRY(auto result, fusion::cross_validate(set, {kFolds, std::move(part_of)}, options));
  Sample sample{seed, result.queries.size(), sampling.count - result.queries.size()};
  add_ranks("RankBoost", result.learner, sample.methods);
  for (const auto& baseline : result.baselines) add_ranks(baseline.name, baseline, sample.methods);
  for (const auto& feature : result.features) add_ranks(feature.name, feature, sample.templates);
  sample.best_template = best_of(sample.templates);
  return sample;
}

/// The means over the samples.
Table means_table(const std::vector<Sample>& samples) {
  Table table{{{""}}};
  for (const int k : kTops) table.rows[0].push_back(fmt::format("top {}", k));
  table.rows[0].emplace_back("avg rank");
  const auto add = [&](const std::string& name, const auto& row_of) {
    table.add({name});
    for (std::size_t column = 0; column <= kRankColumn; ++column) {
      std::vector<double> values;
      for (const Sample& sample : samples) values.push_back(row_of(sample)[column]);
      table.rows.back().push_back(to_text(interval_of(values), column == kRankColumn ? 2 : 0));
    }
  };
  for (const auto& [name, row] : samples[0].methods.rows)
    add(name, [&](const Sample& sample) { return sample.methods.of(name); });
  add("best template a column", [](const Sample& sample) { return sample.best_template; });
  for (const auto& [name, row] : samples[0].templates.rows)
    add(name, [&](const Sample& sample) { return sample.templates.of(name); });
  return table;
}

/// Each sample's average ranks, and the best method.
Table samples_table(const std::vector<Sample>& samples) {
  Table table;
  const auto add = [&](const std::string& name, const auto& cell) {
    table.add({name});
    for (const Sample& sample : samples) table.rows.back().push_back(fmt::format("{}", cell(sample)));
  };
  add("average rank, by seed", [](const Sample& s) { return s.seed; });
  add("base queries answered", [](const Sample& s) { return s.answerable; });
  add("discarded", [](const Sample& s) { return s.unanswerable; });
  for (const auto& [name, row] : samples[0].methods.rows)
    add(name, [&](const Sample& s) { return fixed(s.methods.of(name)[kRankColumn], 2); });
  add("best template", [](const Sample& s) { return fixed(s.best_template[kRankColumn], 2); });
  add("columns led by RankBoost", [](const Sample& s) { return fmt::format("{} of 7", columns_led(s)); });
  return table;
}

/// The first results of the served model for queries that newcomers type.
std::string programs_text(const std::vector<KnownProgram>& programs) {
  const auto known = std::count_if(programs.begin(), programs.end(),
                                   [](const KnownProgram& program) { return program.is_known; });
  std::string out = fmt::format("a program that people know among the first {}: {} of {} queries\n",
                                kFirstResults, known, programs.size());
  for (const KnownProgram& program : programs)
    out += fmt::format("{:<25}  {:<4} {}\n", program.query, program.is_known ? "yes" : "no",
                       fmt::join(program.titles, ", "));
  return out;
}

std::string names_text(const OwnNames& names) {
  std::string out = fmt::format(
      "asked for by name, of the {} most needed projects {} are "
      "first, {} among the first {}\n",
      names.asked, names.first, names.among_three, kFirstResults);
  return names.not_first.empty() ? out
                                 : out + fmt::format("not first: {}\n", fmt::join(names.not_first, ", "));
}

}  // namespace
}  // namespace home_pages

Result<Report> run_home_pages(const ExperimentOptions& options) {
  using namespace home_pages;
  TRY(const auto pages, IndexedPages::open(options.data));
  const std::size_t count = options.is_quick() ? 1 : kSamples;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    TRY(auto sample, run_sample(*pages, options, options.seed + 1 + i));
    samples.push_back(std::move(sample));
    if (options.progress) options.progress(i + 1, count);
  }
  TRY(const auto model, demonstration_model(*pages, kDesignSeed, options.threads));
  TRY(const auto programs, known_programs(*pages, model));
  TRY(const auto names, own_names(*pages, model));
  Report report{
      fmt::format("{} home pages; 1,200 base queries a seed, four folds, RankBoost 3.cum after {} rounds\n"
                  "mean ± half of the 95 % interval (Student's t) over the seeds\n\n",
                  pages->pages().size(), kDemonstrationRounds)};
  report.add(means_table(samples));
  report.add(samples_table(samples));
  report.text += programs_text(programs) + "\n" + names_text(names);
  return report;
}

}  // namespace metafuse::lab::experiments
