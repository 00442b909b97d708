// What is lost when only some of the lists are asked for: five folds by query, in which the training queries
// choose the lists (fusion/training/list_ordering.h) and train `auto` on all lists, and the test queries are
// fused from the chosen lists alone, or in rounds of ever more lists until the top is settled. FedWeb 2013
// has 157 web search engines; the demonstration, which takes part if options.data contains packages.txt, has
// 32 lists. Quick: without the demonstration.
#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "fusion/training/list_ordering.h"
#include "fusion/training/registry.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace fewer_engines {
namespace {

constexpr std::array<std::size_t, 6> kCounts = {3, 5, 10, 15, 20, 30};
constexpr std::array kMayLose = {0.002, 0.005};  ///< of searches in rounds
constexpr std::array kColumns = {"greedy gain", "by the judgments",          "in rounds, may lose 0.002",
                                 "lists asked", "in rounds, may lose 0.005", "lists asked"};
enum Column : std::size_t { kByGain, kByJudgments, kInRounds, kAsked };

/// The place of a column for the i-th number of lists in what run_part() gives; the first is for all lists.
std::size_t place_of(std::size_t i, std::size_t column) {
  return 1 + i * kColumns.size() + column;
}

/// One query for which only some lists were asked. What no asked list holds is in no answer: its row counts
/// as not relevant, and its grade as one that no list holds.
struct Asked {
  fusion::TrainingSet set;
  std::vector<double> scores;

  Asked(const fusion::Model& model, const fusion::TrainingSet& all, std::span<const std::uint64_t> lists)
      : set(fusion::with_lists_only(all, lists)), scores(fusion::scores_of_listed(*model.ranker, set)) {
    for (std::size_t row = 0; row < scores.size(); ++row)
      if (scores[row] == fusion::kNotListed)
        set.queries.front().unlisted.push_back(std::exchange(set.grades[row], 0.0));
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

/// The values of one part's queries, with one list of values per column.
Result<PartValues> run_part(const JudgedQueries& queries, const std::string& measure, std::size_t part,
                            std::uint64_t seed) {
  const Trial trial(queries, divided(queries.part_of, part), measure, seed);
  fusion::TrainingRequest request = trial.request;
  request.train = &trial.train_set;
  request.measure.name = measure;
  request.trace.is_wanted = false;
  const fusion::Learner& learner = *fusion::find_learner("auto");
  TRY(auto trained, learner.train(request));
  std::vector<fusion::ListChoice> choices;
  for (const double may_lose : kMayLose) {
    TRY_VOID(fusion::choose_lists(request, learner, {may_lose, {}}, trained));
    choices.push_back(*trained.model.choice);
  }
  const fusion::Model& model = trained.model;
  const std::vector<std::uint64_t>& gained = choices.front().order;
  PartValues out(place_of(kCounts.size(), 0));
  for (const std::size_t query : trial.test) {
    const std::vector<std::size_t> one = {query};
    const fusion::TrainingSet set = fusion::select_queries(queries.set, one);
    const std::vector<std::uint64_t> known = fusion::order_lists(set, *model.ranker).order;
    const auto value = [&](const Asked& asked) {
      return values_of(queries, asked.set, asked.scores, measure)[0];
    };
    std::vector<double> values = {value(Asked(model, set, gained))};
    for (const std::size_t count : kCounts) {
      for (const auto* order : {&gained, &known})
        values.push_back(value(Asked(model, set, std::span(*order).first(std::min(count, order->size())))));
      for (const fusion::ListChoice& choice : choices) {
        const Outcome found = search_in_rounds(model, choice, set, count, value);
        values.insert(values.end(), {found.value, found.asked});
      }
    }
    for (std::size_t column = 0; column < out.size(); ++column) out[column].push_back(values[column]);
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
  Figures figures{fmt::format("{}: {} by lists asked", queries.name, measure),
                  {kColumns.begin(), kColumns.end()}};
  for (std::size_t i = 0; i < kCounts.size() && kCounts[i] < lists; ++i)
    figures.add(std::to_string(kCounts[i]),
                {&means[place_of(i, 0)], &means[place_of(i, 0)] + kColumns.size()});
  std::vector<double> all(kColumns.size(), means[0]);
  for (std::size_t column = kAsked; column < all.size(); column += 2)
    all[column] = static_cast<double>(lists);
  figures.add(fmt::format("all {}", lists), std::move(all));
  report.add(figures.table(4));
  report.text += "\n";
  return means;
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
  const double reached = means[place_of(3, kByGain)];
  report.judge(fmt::format("{} of 157 engines reach an nDCG@20 of .513", kCounts[3]), reached >= 0.513,
               fixed(reached, 4));
  if (options.is_quick() || !has_set(kHomePages, options, report)) return report;
  TRY(const auto pages, read_judged_queries(kHomePages, options));
  TRY(const auto of_pages, compare(pages, "recip_rank", options, report));
  report.judge_at_least(fmt::format("{} of the demonstration's 32 lists lose at most .005 MRR", kCounts[2]),
                        of_pages[place_of(2, kByGain)] - of_pages[0], -0.005);
  const double gain = of_pages[place_of(1, kInRounds)] - of_pages[0];
  const double asked = of_pages[place_of(1, kAsked)];
  report.judge(
      fmt::format("rounds from {} lists on lose at most .005 MRR and ask less than half of the lists",
                  kCounts[1]),
      gain >= -0.005 && asked < 16, fmt::format("{:+.4f} with {:.1f} lists", gain, asked));
  return report;
}

}  // namespace metafuse::lab::experiments
