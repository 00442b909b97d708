// How careless may judges be: grades of the training queries are turned at random, and every learner is
// measured with the true grades. Each document of a training query gets, with a probability of 0 to 40 %, one
// of the set's other grades, all equally likely. On MQ2008-agg and, if options.data contains packages.txt, on
// the demonstration; five parts, each the test once. Quick: one part. Normal: all parts. Full: all, 5 draws.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/random.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace label_noise {
namespace {

constexpr std::array<double, 5> kShares = {0.0, 0.1, 0.2, 0.3, 0.4};

struct Method {
  const char* learner;
  std::map<std::string, std::string> options = {};
};

const Method kMethods[] = {
    {"reciprocal-ranks"},
    {"auto"},
    {"rankboost-blend"},
    {"rankboost"},
    {"rankboost-bagged", {{"rounds", "50"}}},
    {"rankboost-plus"},
    {"mpboost"},
    {"monotone-trees", {{"bags", "3"}}},
    {"adaboost-mh"},
    {"calibrated-adaboost", {{"leaves", "5,10"}, {"terms", "2"}, {"rounds", "20,50"}}},
    {"oap-bpm"},
    {"adaboost-ordering"},
    {"regression"},
};

/// The training queries of a part, with some grades turned.
fusion::TrainingSet turned(fusion::TrainingSet set, double share, Random random) {
  const std::set<double> distinct(set.grades.begin(), set.grades.end());
  const std::vector<double> grades(distinct.begin(), distinct.end());
  for (double& grade : set.grades) {
    if (random.uniform() >= share || grades.size() < 2) continue;
    const auto own =
        static_cast<std::size_t>(std::find(grades.begin(), grades.end(), grade) - grades.begin());
    const std::size_t other = random.below(grades.size() - 1);
    grade = grades[other < own ? other : other + 1];
  }
  return set;
}

/// The mean over a part's queries, for every method and share; NaN for a learner that refuses the set.
Result<std::vector<double>> run_part(const JudgedQueries& queries, std::size_t part, std::uint64_t seed) {
  const Division division = divided(queries.part_of, part);
  const fusion::TrainingSet train_set = fusion::select_queries(queries.set, division.train);
  const fusion::TrainingSet test_set = fusion::select_queries(queries.set, division.test);
  TRY(const auto measures, evaluation::parse_measures("map"));
  std::vector<double> out;
  for (std::size_t s = 0; s < kShares.size(); ++s) {
    const auto noisy = turned(train_set, kShares[s], Random(seed).split(10 * part + s));
    for (const Method& method : kMethods) {
      fusion::TrainingRequest request;
      request.seed = seed;
      const auto model = train(method.learner, noisy, method.options, request);
      out.push_back(model ? mean_of(values_of(queries, division.test, test_set,
                                              model->ranker->score(test_set.matrix), measures))
                          : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return out;
}

void describe(const std::string& name, const std::vector<double>& means, PaperReport& report) {
  Table table{{{name + ": MAP, grades turned"}}};
  for (const double share : kShares) table.rows[0].push_back(fmt::format("{:.0f} %", 100.0 * share));
  table.rows[0].emplace_back("lost at 40 %");
  JsonObject json;
  constexpr std::size_t methods = std::size(kMethods);
  std::string best;
  double most = 0.0;
  for (std::size_t m = 0; m < methods; ++m) {
    std::vector<double> row;
    for (std::size_t s = 0; s < kShares.size(); ++s) row.push_back(means[s * methods + m]);
    if (std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); })) {
      table.add({kMethods[m].learner, "refuses", "-", "-", "-", "-", "-"});
      continue;
    }
    std::vector<std::string> cells{kMethods[m].learner};
    for (const double value : row) cells.push_back(fixed(value, 4));
    cells.push_back(fmt::format("{:+.4f}", row.back() - row.front()));
    table.add(std::move(cells));
    json[kMethods[m].learner] = json_array(row);
    if (mean_of(row) > most) {
      most = mean_of(row);
      best = kMethods[m].learner;
    }
  }
  report.text += table.text() + fmt::format("best mean over the shares: {} ({:.4f})\n\n", best, most);
  report.json[name] = std::move(json);
}

}  // namespace
}  // namespace label_noise

Result<std::string> run_label_noise(const ExperimentOptions& options) {
  using namespace label_noise;
  PaperReport report{"label-noise", "How careless may judges be",
                     "MAP by the true grades, on queries that nothing was learned from, when so many of the "
                     "training documents have a wrong grade.\n\n"};
  const std::size_t parts = options.is_quick() ? 1 : kFifths;
  const std::size_t draws = options.is_full() ? 5 : 1;
  const auto add = [&](Result<JudgedQueries> read) -> Result<void> {
    TRY(const auto queries, std::move(read));
    TRY(const auto rows, run_all(parts * draws, options.threads, options.progress, [&](std::size_t i) {
          return run_part(queries, i % parts, options.seed + i / parts);
        }));
    describe(queries.name, means_of(rows), report);
    return {};
  };
  TRY_VOID(add(read_aggregation(options.data, "MQ2008-agg")));
  if (has_demonstration(options, report)) TRY_VOID(add(record_demonstration(options, options.seed + 1)));
  return deliver(std::move(report), options);
}

}  // namespace metafuse::lab::experiments
