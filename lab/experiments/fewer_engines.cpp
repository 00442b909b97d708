// What is lost when only some of the lists are asked for: five folds by query, in which the training queries
// choose the lists (fusion/training/list_ordering.h) and train `auto` on all lists, and the test queries are
// fused from the chosen lists alone, or in rounds of ever more lists until the top is settled. FedWeb 2013
// has 157 web search engines; the demonstration, which takes part if options.data contains packages.txt, has
// 32 lists. Quick: without the demonstration.
#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "fusion/data/features.h"
#include "fusion/training/list_ordering.h"
#include "fusion/training/registry.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace fewer_engines {
namespace {

constexpr std::array<std::size_t, 6> kCounts = {3, 5, 10, 15, 20, 30};
constexpr std::size_t kMostOfFedweb = 15;
constexpr std::size_t kMostOfDemonstration = 10;

/// How lists are chosen.
enum Way : std::size_t { kByUse, kByGain, kByHindsight, kWays };
constexpr std::array<double, 2> kLosses = {0.002, 0.005};
constexpr std::array<const char*, kWays> kNames = {"mean use alone", "greedy gain", "by the judgments"};

/// The lists by what each brings on its own, whatever the others bring.
std::vector<std::uint64_t> by_use(const fusion::TrainingSet& set) {
  std::vector<std::pair<double, std::uint64_t>> uses;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
    double sum = 0.0;
    for (std::size_t row = 0; row < set.grades.size(); ++row)
      if (set.grades[row] > 0.0 && !set.matrix.is_unranked(row, f))
        sum += set.grades[row] * fusion::reciprocal_rank_share(-set.matrix.value(row, f));
    uses.emplace_back(-sum, f);
  }
  std::sort(uses.begin(), uses.end());
  std::vector<std::uint64_t> out;
  for (const auto& [sum, feature] : uses) out.push_back(feature);
  return out;
}

/// A set in which only some lists were asked for. What no asked list holds is in no answer, so it counts as
/// not relevant there.
struct Asked {
  fusion::TrainingSet set;
  std::vector<double> scores;

  Asked(const fusion::Model& model, const fusion::TrainingSet& all, std::span<const std::uint64_t> lists)
      : set(fusion::with_lists_only(all, lists)), scores(fusion::scores_of_listed(*model.ranker, set)) {
    for (std::size_t row = 0; row < scores.size(); ++row)
      if (scores[row] == fusion::kNotListed) set.grades[row] = 0.0;
  }
};

/// What a search in rounds gave.
struct Outcome {
  double value = 0.0;
  double asked = 0.0;  ///< how many lists
};

/// The lead of the first result over the second; below 0 without a result.
double lead_in(const Asked& asked) {
  std::vector<double> best(2, fusion::kNotListed);
  std::ranges::partial_sort_copy(asked.scores, best, std::greater<>());
  if (best[0] == fusion::kNotListed) return -1.0;
  return best[1] == fusion::kNotListed ? 0.0 : best[0] - best[1];
}

/// Asks the first lists of the order, and then as many again, until the top is settled.
template <class ValueOf>
Outcome search_in_rounds(const fusion::Model& model, const fusion::ListChoice& choice,
                         const fusion::TrainingSet& set, std::size_t first, const ValueOf& value_of) {
  for (std::size_t count = first;; count *= 2) {
    count = std::min(count, choice.order.size());
    const Asked asked(model, set, std::span(choice.order).first(count));
    const auto settled = choice.settled.find(count);
    const bool is_settled = settled != choice.settled.end() && lead_in(asked) >= settled->second;
    if (is_settled || count == choice.order.size()) return {value_of(asked), static_cast<double>(count)};
  }
}

/// A model with its choice of lists for each of kLosses.
struct Trained {
  fusion::Model model;
  std::vector<fusion::ListChoice> choices;
};

Result<Trained> train_with_choice(const fusion::TrainingSet& set, const std::string& measure,
                                  std::uint64_t seed) {
  fusion::TrainingRequest request;
  request.train = &set;
  request.seed = seed;
  request.measure.name = measure;
  request.trace.is_wanted = false;
  const fusion::Learner& learner = *fusion::find_learner("auto");
  TRY(auto trained, learner.train(request));
  Trained out;
  for (const double may_lose : kLosses) {
    TRY_VOID(fusion::choose_lists(request, learner, {may_lose, {}}, trained));
    out.choices.push_back(*trained.model.choice);
  }
  out.model = std::move(trained.model);
  return out;
}

/// The column of a way and the i-th number of lists in what run_part() gives.
std::size_t column_of(std::size_t way, std::size_t i) {
  return 1 + way * kCounts.size() + i;
}

/// The first of two columns, the value and the lists asked, of searches in rounds.
std::size_t column_in_rounds(std::size_t loss, std::size_t i) {
  return 1 + kWays * kCounts.size() + 2 * (loss * kCounts.size() + i);
}

/// The values of one part's queries: with all lists, then per way and number of lists, then in rounds.
Result<PartValues> run_part(const JudgedQueries& queries, const std::string& measure, std::size_t part,
                            std::uint64_t seed) {
  const Division division = divided(queries.part_of, part);
  const Trial trial(queries, division, measure, seed);
  TRY(const auto trained, train_with_choice(trial.train_set, measure, seed));
  const std::vector<std::uint64_t> used = by_use(trial.train_set);
  const std::vector<std::uint64_t>& gained = trained.choices.front().order;
  PartValues out(column_in_rounds(kLosses.size(), 0));
  for (const std::size_t query : division.test) {
    const std::vector<std::size_t> one = {query};
    const fusion::TrainingSet set = fusion::select_queries(queries.set, one);
    const std::vector<std::uint64_t> known = fusion::order_lists(set).order;
    const std::array<const std::vector<std::uint64_t>*, kWays> orders = {&used, &gained, &known};
    const auto value = [&](const Asked& asked) {
      return values_of(queries, one, asked.set, asked.scores, trial.measures)[0];
    };
    out[0].push_back(value(Asked(trained.model, set, gained)));
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      for (std::size_t way = 0; way < kWays; ++way)
        out[column_of(way, i)].push_back(value(Asked(
            trained.model, set, std::span(*orders[way]).first(std::min(kCounts[i], orders[way]->size())))));
      for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
        const Outcome found = search_in_rounds(trained.model, trained.choices[loss], set, kCounts[i], value);
        out[column_in_rounds(loss, i)].push_back(found.value);
        out[column_in_rounds(loss, i) + 1].push_back(found.asked);
      }
    }
  }
  return out;
}

/// The means over all queries of a data set, as run_part() orders them; adds their table.
Result<std::vector<double>> compare(const JudgedQueries& queries, const std::string& measure,
                                    const ExperimentOptions& options, Report& report) {
  TRY(const auto parts, run_all(kFifths, options, [&](std::size_t part) {
        return run_part(queries, measure, part, options.seed);
      }));
  const std::vector<double> means = means_over_queries(parts);
  const std::size_t lists = queries.set.matrix.feature_count();
  Table table{{{fmt::format("{}: {} by lists asked", queries.name, measure)}}};
  for (const char* name : kNames) table.rows[0].emplace_back(name);
  for (const double loss : kLosses) {
    table.rows[0].push_back(fmt::format("in rounds, may lose {:g}", loss));
    table.rows[0].emplace_back("lists asked");
  }
  for (std::size_t i = 0; i < kCounts.size() && kCounts[i] < lists; ++i) {
    std::vector<double> row;
    for (std::size_t way = 0; way < kWays; ++way) row.push_back(means[column_of(way, i)]);
    for (std::size_t loss = 0; loss < kLosses.size(); ++loss)
      for (const std::size_t column : {column_in_rounds(loss, i), column_in_rounds(loss, i) + 1})
        row.push_back(means[column]);
    table.add(std::to_string(kCounts[i]), row, 4);
  }
  std::vector<double> all(kWays, means[0]);
  for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
    all.push_back(means[0]);
    all.push_back(static_cast<double>(lists));
  }
  table.add(fmt::format("all {}", lists), all, 4);
  report.add(table);
  report.text += "\n";
  return means;
}

/// What the greedy choice of so many lists is worth, from the means of compare().
double greedy(const std::vector<double>& means, std::size_t count) {
  const auto at = std::find(kCounts.begin(), kCounts.end(), count) - kCounts.begin();
  return means[column_of(kByGain, static_cast<std::size_t>(at))];
}

}  // namespace
}  // namespace fewer_engines

Result<Report> run_fewer_engines(const ExperimentOptions& options) {
  using namespace fewer_engines;
  Report report{
      "Five folds by query: the other folds' judgments choose the lists and train auto. \"By the judgments\" "
      "chooses for each query by its own judgments, which nobody knows beforehand.\n\n"};
  TRY(const auto fedweb, read_judged_queries("FedWeb", options));
  TRY(const auto means, compare(fedweb, "ndcg_cut_20", options, report));
  const double reached = greedy(means, kMostOfFedweb);
  report.judge(fmt::format("{} of 157 engines reach an nDCG@20 of .513", kMostOfFedweb), reached >= 0.513,
               fixed(reached, 4));
  if (!options.is_quick() && has_set(kHomePages, options, report)) {
    TRY(const auto pages, read_judged_queries(kHomePages, options));
    TRY(const auto of_pages, compare(pages, "recip_rank", options, report));
    report.judge_at_least(
        fmt::format("{} of the demonstration's 32 lists lose at most .005 MRR", kMostOfDemonstration),
        greedy(of_pages, kMostOfDemonstration) - of_pages[0], -0.005);
    const std::size_t in_rounds = column_in_rounds(0, 1);
    report.judge(
        fmt::format("rounds from {} lists on lose at most .005 MRR and ask less than half of the lists",
                    kCounts[1]),
        of_pages[0] - of_pages[in_rounds] <= 0.005 && of_pages[in_rounds + 1] < 16,
        fmt::format("{:+.4f} with {:.1f} lists", of_pages[in_rounds] - of_pages[0], of_pages[in_rounds + 1]));
  }
  return report;
}

}  // namespace metafuse::lab::experiments
