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

/// One method's figures in one sample: the six top-k counts and the average rank.
using Row = std::array<double, kTops.size() + 1>;
using NamedRows = std::vector<std::pair<std::string, Row>>;

struct Sample {
  std::uint64_t seed = 0;
  std::size_t answerable = 0;
  std::size_t unanswerable = 0;
  NamedRows methods;    ///< RankBoost, then the baselines
  NamedRows templates;  ///< each template alone
};

/// Whether the first value of a column is at least as good: counts should be high, the average rank low.
bool at_least(std::size_t column, double a, double b) {
  return column == kRankColumn ? a <= b : a >= b;
}

Row row_of(const fusion::MethodRanks& ranks) {
  Row row{};
  for (std::size_t i = 0; i < kTops.size(); ++i) row[i] = static_cast<double>(ranks.top(kTops[i]));
  row[kRankColumn] = ranks.average_rank();
  return row;
}

/// The best of the templates in each column, chosen on the test data as in the paper.
Row best_of(const NamedRows& rows) {
  Row best = rows.front().second;
  for (const auto& [name, row] : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      if (at_least(column, row[column], best[column])) best[column] = row[column];
  return best;
}

/// In how many of the seven columns RankBoost is at least as good as every other method and every template.
std::size_t columns_led(const Sample& sample) {
  const Row& own = sample.methods.front().second;
  std::size_t led = 0;
  for (std::size_t column = 0; column < own.size(); ++column) {
    const auto is_behind = [&](const auto& other) {
      return at_least(column, own[column], other.second[column]);
    };
    led += std::all_of(sample.methods.begin() + 1, sample.methods.end(), is_behind) &&
           std::all_of(sample.templates.begin(), sample.templates.end(), is_behind);
  }
  return led;
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
  Sample sample{seed, result.queries.size(), sampling.count - result.queries.size(), {}, {}};
  sample.methods.emplace_back("RankBoost", row_of(result.learner));
  for (const auto& baseline : result.baselines) sample.methods.emplace_back(baseline.name, row_of(baseline));
  for (const auto& feature : result.features) sample.templates.emplace_back(feature.name, row_of(feature));
  return sample;
}

/// The means over the samples of one row.
template <class RowOf>
std::string mean_line(const std::string& name, const std::vector<Sample>& samples, const RowOf& row) {
  std::string line = fmt::format("{:<25} ", name);
  for (std::size_t column = 0; column < std::tuple_size_v<Row>; ++column) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(row(sample)[column]);
    line += fmt::format(" {:>12}", to_text(interval_of(values), column == kRankColumn ? 2 : 0));
  }
  return line + '\n';
}

std::string table_of(const std::vector<Sample>& samples) {
  std::string out(26, ' ');
  for (const int k : kTops) out += fmt::format(" {:>12}", fmt::format("top {}", k));
  out += fmt::format(" {:>12}\n", "avg rank");
  const auto add = [&](NamedRows Sample::*rows) {
    for (std::size_t i = 0; i < (samples[0].*rows).size(); ++i)
      out += mean_line((samples[0].*rows)[i].first, samples,
                       [&](const Sample& sample) { return (sample.*rows)[i].second; });
  };
  add(&Sample::methods);
  out += mean_line("best template a column", samples, [](const Sample& s) { return best_of(s.templates); });
  out += '\n';
  add(&Sample::templates);
  return out;
}

/// Each sample's average ranks, and the best method.
std::string samples_table(const std::vector<Sample>& samples) {
  std::string out;
  const auto add = [&](const std::string& name, const auto& cell) {
    out += fmt::format("{:<25} ", name);
    for (const Sample& sample : samples) out += fmt::format(" {:>8}", cell(sample));
    out += '\n';
  };
  add("average rank, by seed", [](const Sample& s) { return s.seed; });
  add("base queries answered", [](const Sample& s) { return s.answerable; });
  add("discarded", [](const Sample& s) { return s.unanswerable; });
  for (std::size_t i = 0; i < samples[0].methods.size(); ++i)
    add(samples[0].methods[i].first, [&](const Sample& s) { return fixed(s.methods[i].second.back(), 2); });
  add("best template", [](const Sample& s) { return fixed(best_of(s.templates).back(), 2); });
  add("columns led by RankBoost", [](const Sample& s) { return fmt::format("{} of 7", columns_led(s)); });
  return out;
}

/// The first results of the served model for queries that newcomers type.
std::string programs_table(const std::vector<KnownProgram>& programs) {
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

JsonArray json_of(const std::vector<Sample>& samples) {
  const auto rows = [](const NamedRows& named_rows) {
    JsonObject out;
    for (const auto& [name, row] : named_rows) out[name] = json_array(row);
    return out;
  };
  JsonArray out;
  for (const Sample& sample : samples)
    out.push_back(JsonObject{{"seed", sample.seed},
                             {"answered", sample.answerable},
                             {"discarded", sample.unanswerable},
                             {"methods", rows(sample.methods)},
                             {"templates", rows(sample.templates)}});
  return out;
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
                  "mean ± half of the 95 % interval (Student's t) over the seeds\n\n{}\n{}\n{}\n{}",
                  pages->pages().size(), kDemonstrationRounds, table_of(samples), samples_table(samples),
                  programs_table(programs), names_text(names))};
  report.json["samples"] = json_of(samples);
  return report;
}

}  // namespace metafuse::lab::experiments
