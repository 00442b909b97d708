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

namespace metafuse::lab::experiments {
namespace label_noise {
namespace {

constexpr std::array<double, 5> kShares = {0.0, 0.1, 0.2, 0.3, 0.4};

const Method kMethods[] = {
    {"reciprocal-ranks"},
    {"auto"},
    {"rankboost-blend"},
    {"rankboost"},
    {"rankboost-bagged", "", {{"rounds", "50"}}},
    {"rankboost-plus"},
    {"mpboost"},
    {"monotone-trees", "", {{"bags", "3"}}},
    {"adaboost-mh"},
    {"calibrated-adaboost", "", {{"leaves", "5,10"}, {"terms", "2"}, {"rounds", "20,50"}}},
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
  const Trial trial(queries, divided(queries.part_of, part), "map", seed);
  std::vector<double> out;
  for (std::size_t s = 0; s < kShares.size(); ++s) {
    const auto noisy = turned(trial.train_set, kShares[s], Random(seed).split(10 * part + s));
    for (const Method& method : kMethods) {
      TRY(const auto model, trial.learn_if_accepted(method, noisy));
      out.push_back(model ? trial.value(*model) : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return out;
}

void describe(const std::string& name, const std::vector<double>& means, Report& report) {
  Table table{{{name + ": MAP, grades turned"}}};
  for (const double share : kShares) table.rows[0].push_back(fmt::format("{:.0f} %", 100.0 * share));
  for (std::size_t m = 0; m < std::size(kMethods); ++m) {
    std::vector<double> row;
    for (std::size_t s = 0; s < kShares.size(); ++s) row.push_back(means[s * std::size(kMethods) + m]);
    if (std::isnan(mean_of(row)))
      table.add({kMethods[m].name, "refuses", "-", "-", "-", "-"});
    else
      table.add(kMethods[m].name, row, 4);
  }
  report.add(table);
  report.text += "\n";
}

}  // namespace
}  // namespace label_noise

Result<Report> run_label_noise(const ExperimentOptions& options) {
  using namespace label_noise;
  Report report{
      "MAP by the true grades, on queries that nothing was learned from, when so many of the "
      "training documents have a wrong grade.\n\n"};
  TRY_VOID(for_each_set({"MQ2008-agg", kHomePages}, options, report,
                        [&](const JudgedQueries& queries) -> Result<void> {
                          TRY(const auto rows, run_parts(options, [&](std::size_t part, std::uint64_t seed) {
                                return run_part(queries, part, seed);
                              }));
                          describe(queries.name, means_of(rows), report);
                          return {};
                        }));
  return report;
}

}  // namespace metafuse::lab::experiments
