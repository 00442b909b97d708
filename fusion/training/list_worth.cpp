#include "fusion/training/list_worth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace metafuse::fusion {
namespace {

/// The measure of each judged query, negated if lower is better; queries that no list answers are absent.
using ValuesByQuery = std::map<std::string, double, std::less<>>;

double sign_of(const MethodComparisonOptions& options) {
  return options.set.measure_of(0).is_cost ? -1.0 : 1.0;
}

/// What queries count that no list answers: the measure of a ranking without documents.
ValuesByQuery unanswered_values(const evaluation::Judgments& judgments,
                                const MethodComparisonOptions& options) {
  ValuesByQuery values;
  for (const evaluation::QueryJudgments& query : judgments.queries) {
    const evaluation::JudgedRanking nothing{{}, {}, evaluation::grade_counts(query)};
    values[std::string(query.query)] =
        sign_of(options) * evaluation::evaluate(options.set, nothing, options.evaluation.rules)[0];
  }
  return values;
}

/// Fuses all runs except those left out, and measures every query.
///
/// errors: those of compare_methods() and of the learner, unless one list less left it no crucial pair: then
///         the values are those of RRF
Result<ValuesByQuery> fused_values(const std::vector<evaluation::Run>& runs,
                                   const std::vector<std::size_t>& left_out,
                                   const evaluation::Judgments& judgments,
                                   const MethodComparisonOptions& options) {
  std::vector<evaluation::Run> kept;
  for (std::size_t run = 0; run < runs.size(); ++run)
    if (std::ranges::find(left_out, run) == left_out.end()) kept.push_back(runs[run]);
  MethodComparisonOptions own = options;
  own.significance.baseline.clear();
  own.progress = nullptr;
  if (!own.learners.empty()) own.methods = {"rrf"};  // an empty list would mean all methods
  TRY(const auto compared, compare_methods(kept, judgments, own));
  for (const auto& [name, error] : compared.left_out)
    if (own.learners.empty() || left_out.empty() || error.code != Code::bad_data)
      return fail(error.code, name + ": " + error.text);
  const evaluation::RunEvaluation& row = compared.report.runs.back();  // the learner's, or else RRF's
  ValuesByQuery values;
  for (std::size_t query = 0; query < row.queries.size(); ++query)
    values[row.queries[query]] = sign_of(options) * row.value(query, 0);
  return values;
}

/// What the fusion of fewer lists is compared with.
struct Reference {
  ValuesByQuery all;         ///< by all lists
  ValuesByQuery unanswered;  ///< of queries that no list answers
};

/// The measure by fewer lists of each query that some list answers.
std::vector<double> values_by(const ValuesByQuery& fewer, const Reference& reference) {
  std::vector<double> out;
  for (const auto& [query, value] : reference.all) {
    const auto at = fewer.find(query);
    out.push_back(at == fewer.end() ? reference.unanswered.at(query) : at->second);
  }
  return out;
}

/// How much lower each query's measure is by fewer lists than by all.
std::vector<double> losses(const ValuesByQuery& fewer, const Reference& reference) {
  std::vector<double> out = values_by(fewer, reference);
  auto value = out.begin();
  for (const auto& [query, whole] : reference.all) {
    *value = whole - *value;
    ++value;
  }
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Counts relevant documents: all judged ones, those in any list, and for each list those only it holds.
void count_relevant(const std::vector<evaluation::Run>& runs, const evaluation::Judgments& judgments,
                    const MethodComparisonOptions& options, ListReport& report) {
  for (const evaluation::QueryJudgments& query : judgments.queries) {
    std::map<std::string_view, std::vector<std::size_t>> holders;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const evaluation::RunTopic* topic = runs[run].find(query.query);
      if (topic == nullptr) continue;
      const std::size_t depth =
          options.depth > 0 ? std::min(options.depth, topic->entries.size()) : topic->entries.size();
      for (std::size_t i = 0; i < depth; ++i) holders[topic->entries[i].document].push_back(run);
    }
    for (const evaluation::Judgment& judgment : query.documents) {
      if (judgment.grade < options.evaluation.rules.relevance_level) continue;
      ++report.relevant;
      const auto at = holders.find(judgment.document);
      if (at == holders.end()) continue;
      ++report.found;
      for (const std::size_t run : at->second) ++report.lists[run].relevant;
      if (at->second.size() == 1) ++report.lists[at->second.front()].only_here;
    }
  }
}

/// The mean measure of one list alone, over all queries of the fusion.
Result<double> value_alone(const std::vector<evaluation::Run>& runs, std::size_t run,
                           const evaluation::Judgments& judgments, const MethodComparisonOptions& options,
                           const Reference& reference) {
  std::vector<std::size_t> others;
  for (std::size_t other = 0; other < runs.size(); ++other)
    if (other != run) others.push_back(other);
  MethodComparisonOptions single = options;
  single.learners.clear();
  single.learner_options.clear();
  single.methods = {"rrf"};  // RRF of one list is the list itself
  TRY(const auto values, fused_values(runs, others, judgments, single));
  return mean(values_by(values, reference));
}

/// Takes lists away one after another, in the given order.
Result<void> take_away(const std::vector<evaluation::Run>& runs, const std::vector<std::size_t>& order,
                       const evaluation::Judgments& judgments, const ListWorthOptions& options,
                       const Reference& reference, ListReport& report) {
  std::vector<std::size_t> gone;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    gone.push_back(order[i]);
    TRY(const auto values, fused_values(runs, gone, judgments, options.comparison));
    const std::vector<double> lost = losses(values, reference);
    const double loss = mean(lost);
    report.steps.push_back({runs[order[i]].name, report.value - loss, loss,
                            evaluation::bootstrap_interval(lost, options.comparison.significance.seed)});
    if (loss <= options.most_loss) report.dispensable = i + 1;
    if (options.comparison.progress) options.comparison.progress(runs.size() + i + 1, 2 * runs.size());
  }
  return {};
}

}  // namespace

Result<ListReport> worth_of_lists(const std::vector<evaluation::Run>& runs,
                                  const evaluation::Judgments& judgments, const ListWorthOptions& options) {
  const MethodComparisonOptions& comparison = options.comparison;
  if (runs.size() < 2) return fail(Code::usage, "one list alone adds nothing to a fusion; give two or more");
  if (comparison.set.size() != 1)
    return fail(Code::usage, "give exactly one measure, such as map or ndcg_cut_10");
  ListReport report;
  report.method = comparison.learners.empty() ? comparison.methods.front() : comparison.learners.front();
  report.measure = comparison.set.names.front();
  report.most_loss = options.most_loss;
  report.lists.resize(runs.size());
  count_relevant(runs, judgments, comparison, report);
  Reference reference{{}, unanswered_values(judgments, comparison)};
  TRY(reference.all, fused_values(runs, {}, judgments, comparison));
  report.queries = reference.all.size();
  report.value = mean(values_by(reference.all, reference));
  for (std::size_t run = 0; run < runs.size(); ++run) {
    ListWorth& list = report.lists[run];
    list.name = runs[run].name;
    TRY(list.alone, value_alone(runs, run, judgments, comparison, reference));
    TRY(const auto others, fused_values(runs, {run}, judgments, comparison));
    const std::vector<double> lost = losses(others, reference);
    list.loss = mean(lost);
    list.interval = evaluation::bootstrap_interval(lost, comparison.significance.seed);
    if (comparison.progress) comparison.progress(run + 1, 2 * runs.size());
  }
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t list) { return report.lists[list].loss; });
  TRY_VOID(take_away(runs, order, judgments, options, reference, report));
  std::ranges::stable_sort(report.lists, std::greater<>(), &ListWorth::loss);
  return report;
}

std::string to_table(const ListReport& report) {
  std::size_t width = 8;
  for (const ListWorth& list : report.lists) width = std::max(width, list.name.size());
  std::string out =
      fmt::format("{} of {} lists: {} {:.4f} over {} queries; {} of {} relevant documents are in a list\n\n",
                  report.method, report.lists.size(), report.measure, report.value, report.queries,
                  report.found, report.relevant);
  out += fmt::format("{:<{}} {:>8} {:>9} {:>9}  {}\n", "list", width, "alone", "relevant", "only here",
                     "lost without it (95 % interval)");
  for (const ListWorth& list : report.lists)
    out += fmt::format("{:<{}} {:>8.4f} {:>9} {:>9}  {:+.4f} ({:+.4f} to {:+.4f})\n", list.name, width,
                       list.alone, list.relevant, list.only_here, list.loss, list.interval.low,
                       list.interval.high);
  out += fmt::format("\n{:<{}} {:>8}  {}\n", "taken away one after the other", width, report.measure,
                     "lost (95 % interval)");
  for (const ListsLeft& step : report.steps)
    out += fmt::format("{:<{}} {:>8.4f}  {:+.4f} ({:+.4f} to {:+.4f})\n", "- " + step.without, width + 22,
                       step.value, step.loss, step.interval.low, step.interval.high);
  if (report.dispensable == 0)
    return out + fmt::format("\nno list could go for {} or less\n", report.most_loss);
  const ListsLeft& last = report.steps[report.dispensable - 1];
  return out + fmt::format("\nthe first {} of them could go: {} would be {:.4f}, {:.4f} {}\n",
                           report.dispensable, report.measure, last.value, std::abs(last.loss),
                           last.loss < 0 ? "more" : "less");
}

Json to_json(const ListReport& report) {
  JsonArray lists;
  for (const ListWorth& list : report.lists)
    lists.push_back(JsonObject{{"name", list.name},
                               {"alone", list.alone},
                               {"relevant", list.relevant},
                               {"only_here", list.only_here},
                               {"loss", list.loss},
                               {"interval", JsonArray{list.interval.low, list.interval.high}}});
  JsonArray steps;
  for (const ListsLeft& step : report.steps)
    steps.push_back(JsonObject{{"without", step.without},
                               {"value", step.value},
                               {"loss", step.loss},
                               {"interval", JsonArray{step.interval.low, step.interval.high}}});
  return JsonObject{
      {"method", report.method},      {"measure", report.measure},      {"value", report.value},
      {"queries", report.queries},    {"relevant", report.relevant},    {"found", report.found},
      {"lists", std::move(lists)},    {"taken_away", std::move(steps)}, {"dispensable", report.dispensable},
      {"most_loss", report.most_loss}};
}

}  // namespace metafuse::fusion
