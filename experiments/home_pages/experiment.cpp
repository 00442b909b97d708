#include "experiments/home_pages/experiment.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/atomic_file.h"
#include "core/json.h"
#include "evaluation/significance/folds.h"
#include "experiments/home_pages/base_queries.h"
#include "experiments/home_pages/indexed_pages.h"
#include "experiments/interval.h"
#include "fusion/training/baseline.h"
#include "fusion/training/cross_validation.h"

namespace metafuse::experiments::home_pages {
namespace {

constexpr std::array kTops = {1, 2, 5, 10, 20, 30};
constexpr std::size_t kFolds = 4;
constexpr std::size_t kSamples = 5;
constexpr const char* kRounds = "60";

/// One sample's figures of one method: the six top-k counts and the average rank.
using Row = std::array<double, kTops.size() + 1>;

struct Sample {
  std::uint64_t seed = 0;
  std::size_t answerable = 0;
  std::size_t unanswerable = 0;
  std::vector<std::pair<std::string, Row>> methods;    ///< RankBoost, then the baselines
  std::vector<std::pair<std::string, Row>> templates;  ///< each alone
};

Row row_of(const fusion::MethodRanks& ranks) {
  Row row{};
  for (std::size_t i = 0; i < kTops.size(); ++i) row[i] = static_cast<double>(ranks.top(kTops[i]));
  row[kTops.size()] = ranks.average_rank();
  return row;
}

/// Column by column the best of the templates, chosen on the test data as in the paper.
Row best_of(const std::vector<std::pair<std::string, Row>>& rows) {
  Row best = rows.front().second;
  for (const auto& [name, row] : rows) {
    for (std::size_t i = 0; i < kTops.size(); ++i) best[i] = std::max(best[i], row[i]);
    best[kTops.size()] = std::min(best[kTops.size()], row[kTops.size()]);
  }
  return best;
}

struct Task {
  IndexedPages& pages;
  const ExperimentOptions& options;
};

Result<Sample> run_sample(const Task& task, std::uint64_t seed) {
  SampleOptions sampling;
  sampling.seed = seed;
  TRY(auto set, task.pages.record(sampling, task.options.threads));
  std::vector<std::string_view> ids;
  for (const fusion::QueryRange& query : set.queries) ids.emplace_back(query.id);
  TRY(auto folds, evaluation::random_folds(ids, kFolds, seed));
  fusion::CrossValidationOptions options;
  options.learner = fusion::find_learner("rankboost");
  options.learner_options = {{"rounds", kRounds}};
  options.baselines = fusion::rank_baselines();
  options.depth = task.pages.domain().depth;
  options.seed = seed;
  options.threads = task.options.threads;
  TRY(auto result, fusion::cross_validate(set, folds, options));
  Sample sample;
  sample.seed = seed;
  sample.answerable = result.queries.size();
  sample.unanswerable = sampling.count - sample.answerable;
  sample.methods.emplace_back("RankBoost", row_of(result.learner));
  for (const auto& baseline : result.baselines) sample.methods.emplace_back(baseline.name, row_of(baseline));
  for (const auto& feature : result.features) sample.templates.emplace_back(feature.name, row_of(feature));
  return sample;
}

std::string padded(std::string text, std::size_t width) {
  const auto columns = text.size() - static_cast<std::size_t>(std::count(text.begin(), text.end(), '\xc2'));
  return columns < width ? std::string(width - columns, ' ') + text : ' ' + text;
}

std::string padded_right(std::string text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + ' ';
}

using RowOf = std::function<Row(const Sample&)>;

std::string mean_line(const std::string& name, const std::vector<Sample>& samples, const RowOf& row) {
  std::string line = padded_right(name, 26);
  for (std::size_t column = 0; column < std::tuple_size_v<Row>; ++column) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(row(sample)[column]);
    const bool is_rank = column == kTops.size();
    line += padded(to_text(interval_of(values), is_rank ? 2 : 0), 13);
  }
  return line + '\n';
}

std::string table_of(const std::vector<Sample>& samples) {
  std::string out = padded_right("", 26);
  for (const int k : kTops) out += padded("top " + std::to_string(k), 13);
  out += padded("avg rank", 13) + '\n';
  for (std::size_t i = 0; i < samples[0].methods.size(); ++i)
    out +=
        mean_line(samples[0].methods[i].first, samples, [i](const Sample& s) { return s.methods[i].second; });
  out += mean_line("best template a column", samples, [](const Sample& s) { return best_of(s.templates); });
  out += '\n';
  for (std::size_t i = 0; i < samples[0].templates.size(); ++i)
    out += mean_line(samples[0].templates[i].first, samples,
                     [i](const Sample& s) { return s.templates[i].second; });
  return out;
}

/// In how many of the seven columns RankBoost at least equals every other method and every template.
std::size_t columns_led(const Sample& sample) {
  const Row& own = sample.methods.front().second;
  std::size_t led = 0;
  for (std::size_t column = 0; column < own.size(); ++column) {
    const auto is_behind = [&](const std::pair<std::string, Row>& other) {
      return column == kTops.size() ? other.second[column] >= own[column]
                                    : other.second[column] <= own[column];
    };
    led += std::all_of(sample.methods.begin() + 1, sample.methods.end(), is_behind) &&
           std::all_of(sample.templates.begin(), sample.templates.end(), is_behind);
  }
  return led;
}

/// Each sample's average ranks, and who was best.
std::string samples_table(const std::vector<Sample>& samples) {
  std::string out = padded_right("average rank, by seed", 26);
  for (const Sample& sample : samples) out += padded(std::to_string(sample.seed), 9);
  out += '\n' + padded_right("base queries answered", 26);
  for (const Sample& sample : samples) out += padded(std::to_string(sample.answerable), 9);
  out += '\n' + padded_right("discarded", 26);
  for (const Sample& sample : samples) out += padded(std::to_string(sample.unanswerable), 9);
  out += '\n';
  for (std::size_t i = 0; i < samples[0].methods.size(); ++i) {
    out += padded_right(samples[0].methods[i].first, 26);
    for (const Sample& sample : samples) out += padded(fixed(sample.methods[i].second.back(), 2), 9);
    out += '\n';
  }
  out += padded_right("best template", 26);
  for (const Sample& sample : samples) out += padded(fixed(best_of(sample.templates).back(), 2), 9);
  out += '\n' + padded_right("columns led by RankBoost", 26);
  for (const Sample& sample : samples) out += padded(std::to_string(columns_led(sample)) + " of 7", 9);
  return out + '\n';
}

Json json_of(const std::vector<Sample>& samples) {
  const auto rows = [](const std::vector<std::pair<std::string, Row>>& named) {
    JsonObject out;
    for (const auto& [name, row] : named) out[name] = JsonArray(row.begin(), row.end());
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

Result<std::string> run_home_pages(const ExperimentOptions& options) {
  TRY(auto pages, IndexedPages::open(options.data));
  const std::size_t count = options.size == ExperimentOptions::Size::quick ? 1 : kSamples;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    TRY(auto sample, run_sample({*pages, options}, options.seed + 1 + i));
    samples.push_back(std::move(sample));
    if (options.progress) options.progress(i + 1, count);
  }
  if (!options.output.empty()) {
    TRY_VOID(write_file(options.output + "/home-pages.json", to_pretty_text(json_of(samples))));
  }
  return std::to_string(pages->pages().size()) +
         " home pages; 1,200 base queries a seed, four folds, RankBoost 3.cum after " + kRounds +
         " rounds\nmean ± half of the 95 % interval (Student's t) over the seeds\n\n" + table_of(samples) +
         '\n' + samples_table(samples);
}

}  // namespace metafuse::experiments::home_pages
