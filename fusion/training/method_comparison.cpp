#include "fusion/training/method_comparison.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/parallel.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/training_set.h"
#include "fusion/input/input_files.h"
#include "fusion/model/fuse.h"
#include "fusion/training/auto_learner.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/supervised_fusion.h"

namespace metafuse::fusion {
namespace {

using evaluation::JudgedRanking;
using evaluation::RunEvaluation;

/// A judged query and its lists.
struct Item {
  const evaluation::QueryJudgments* judgments = nullptr;
  JudgedLists lists;
};

std::vector<Item> judged_items(const std::vector<evaluation::Run>& runs,
                               const evaluation::Judgments& judgments,
                               const MethodComparisonOptions& options) {
  std::vector<Item> items;
  for (const evaluation::QueryJudgments& query : judgments.queries) {
    QueryLists lists = lists_of_topic(runs, query.query, options.depth);
    if (lists.size() == 0) continue;
    items.push_back({&query, judge_lists(std::move(lists), query, options.evaluation.rules.relevance_level)});
  }
  return items;
}

/// The grades of a ranking of document numbers, as evaluation needs them.
JudgedRanking ranking_of(const Item& item, std::vector<std::uint32_t> order, std::size_t limit) {
  JudgedRanking ranking;
  if (limit > 0 && order.size() > limit) order.resize(limit);
  for (const std::uint32_t document : order) {
    const evaluation::Judgment* judgment = item.judgments->find(item.lists.query.documents[document]);
    ranking.grades.push_back(judgment == nullptr   ? evaluation::kNotPooled
                             : judgment->grade < 0 ? evaluation::kUnjudged
                                                   : judgment->grade);
  }
  std::vector<int> grades;
  for (const evaluation::Judgment& judgment : item.judgments->documents)
    if (judgment.grade >= 0) grades.push_back(judgment.grade);
  std::sort(grades.begin(), grades.end());
  for (const int grade : grades) {
    if (ranking.judged.empty() || ranking.judged.back().grade != grade) ranking.judged.push_back({grade, 0});
    ++ranking.judged.back().count;
  }
  return ranking;
}

/// One comparison: evaluates rankings of the judged queries into table rows.
class Table {
 public:
  Table(std::vector<Item> items, const MethodComparisonOptions& options)
      : items_(std::move(items)), options_(options) {}

  const std::vector<Item>& items() const { return items_; }

  /// Makes a row; order_of(query number) returns the fused order of the query's documents.
  template <class OrderOf>
  RunEvaluation evaluate_row(const std::string& name, OrderOf order_of) const {
    RunEvaluation row;
    row.run = name;
    row.values.resize(items_.size() * options_.set.size());
    for (const Item& item : items_) row.queries.emplace_back(item.judgments->query);
    parallel_for(items_.size(), options_.evaluation.threads, [&](std::size_t i) {
      const JudgedRanking ranking = ranking_of(items_[i], order_of(i), options_.evaluation.depth);
      evaluation::evaluate(options_.set, ranking, options_.evaluation.rules,
                           std::span(row.values).subspan(i * options_.set.size(), options_.set.size()));
    });
    summarise(row, options_.set, options_.evaluation);
    return row;
  }

  RunEvaluation evaluate_single(const std::string& name, std::size_t list) const {
    return evaluate_row(name, [&](std::size_t i) {
      std::vector<std::uint32_t> order;
      for (const ListEntry& entry : items_[i].lists.query.lists[list]) order.push_back(entry.document);
      return order;
    });
  }

  RunEvaluation evaluate_scores(const std::string& name, const std::vector<ScoreQuery>& score_of_fold,
                                const std::vector<std::size_t>& fold_of) const {
    return evaluate_row(name, [&](std::size_t i) {
      const QueryLists& query = items_[i].lists.query;
      return fused_order(query, score_of_fold[fold_of.empty() ? 0 : fold_of[i]](query));
    });
  }

 private:
  std::vector<Item> items_;
  const MethodComparisonOptions& options_;
};

Result<std::vector<std::size_t>> folds_of(const std::vector<Item>& items,
                                          const MethodComparisonOptions& options) {
  std::vector<std::string_view> queries;
  for (const Item& item : items) queries.push_back(item.judgments->query);
  TRY(auto folds, evaluation::random_folds(queries, options.folds, options.seed));
  return folds.fold_of;
}

Result<std::vector<ScoreQuery>> train_method(const FusionMethod& method, const std::vector<Item>& items,
                                             const std::vector<std::size_t>& fold_of, std::size_t folds) {
  std::vector<ScoreQuery> out;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<JudgedLists> train;
    for (std::size_t i = 0; i < items.size(); ++i)
      if (fold_of[i] != fold) train.push_back(items[i].lists);
    TRY(auto learned, train_fusion(method, train, {}));
    out.push_back([&method, knowledge = std::move(learned)](const QueryLists& query) {
      return fuse_scores(method, query, knowledge);
    });
  }
  return out;
}

/// Selects those of the given options that this learner has.
std::map<std::string, std::string> options_for(const Learner& learner,
                                               const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> out;
  for (const LearnerOption& option : learner.options)
    if (const auto at = given.find(option.name); at != given.end()) out.insert(*at);
  return out;
}

Result<std::vector<ScoreQuery>> train_learner(const Learner& learner, const TrainingSet& set,
                                              const std::vector<std::string>& names,
                                              const std::vector<std::size_t>& fold_of,
                                              const MethodComparisonOptions& options,
                                              FeedbackOptions::QueryWeights query_weights,
                                              std::vector<std::string>& choices) {
  std::vector<ScoreQuery> out;
  for (std::size_t fold = 0; fold < options.folds; ++fold) {
    std::vector<std::size_t> kept;
    for (std::size_t query = 0; query < set.queries.size(); ++query)
      if (fold_of[query] != fold) kept.push_back(query);
    TrainingSet train = select_queries(set, kept);
    train.feedback.query_weights = query_weights;
    TrainingRequest request;
    request.train = &train;
    request.options = options_for(learner, options.learner_options);
    request.measure_name = options.set.names.empty() ? "" : options.set.names.front();
    request.seed = options.seed;
    request.threads = options.evaluation.threads;
    TRY(auto trained, learner.train(request));
    if (std::string choice = brief_choice_text(trained.model.training); !choice.empty())
      choices.push_back(std::move(choice));
    TRY(auto score, score_with_model(trained.model, names, false));
    out.push_back(std::move(score));
  }
  return out;
}

/// The run with the best value of the first measure.
std::size_t best_run(const Table& table, const std::vector<evaluation::Run>& runs,
                     const evaluation::MeasureSet& set, std::optional<RunEvaluation>& best) {
  std::size_t place = 0;
  const double sign = set.measure_of(0).is_cost ? -1.0 : 1.0;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    RunEvaluation row = table.evaluate_single(runs[run].name, run);
    if (best && sign * row.summary[0] <= sign * best->summary[0]) continue;
    place = run;
    best = std::move(row);
  }
  return place;
}

Result<std::vector<const FusionMethod*>> chosen_methods(const std::vector<std::string>& names) {
  std::vector<const FusionMethod*> methods;
  for (const std::string& name : names) {
    const FusionMethod* method = find_fusion_method(name);
    if (method == nullptr)
      return fail(Code::usage, "no fusion method \"" + name + "\"; see metafuse fuse --list-methods");
    methods.push_back(method);
  }
  if (names.empty())
    for (const FusionMethod& method : fusion_methods()) methods.push_back(&method);
  return methods;
}

Result<std::vector<const Learner*>> chosen_learners(const std::vector<std::string>& names) {
  std::vector<const Learner*> out;
  for (const std::string& name : names) {
    const Learner* learner = find_learner(name);
    if (learner == nullptr)
      return fail(Code::usage, "no learner \"" + name + "\"; see metafuse train --help");
    out.push_back(learner);
  }
  return out;
}

/// Adds rows to a comparison one by one and reports progress.
class ComparisonRows {
 public:
  ComparisonRows(const Table& table, const std::vector<std::size_t>& fold_of,
                 const MethodComparisonOptions& options, std::size_t total, MethodComparison& out)
      : table_(table), fold_of_(fold_of), options_(options), total_(total), out_(out) {}

  void add(const FusionMethod& method) {
    if (method.is_supervised || method.needs_weights)
      return add_row(method.name, train_method(method, table_.items(), fold_of_, options_.folds), fold_of_);
    const auto fuse = [&method](const QueryLists& query) { return fuse_scores(method, query, {}); };
    add_row(method.name, std::vector<ScoreQuery>{fuse}, {});
  }

  void add(const Learner& learner, const TrainingSet& set, const std::vector<std::string>& names) {
    const auto weights =
        learner.takes_query_weights ? options_.feedback.query_weights : FeedbackOptions::QueryWeights::pairs;
    std::vector<std::string> choices;
    add_row(learner.name, train_learner(learner, set, names, fold_of_, options_, weights, choices), fold_of_);
    for (std::size_t fold = 0; fold < choices.size(); ++fold)
      out_.notes.push_back(fmt::format("{} chose {} in fold {}", learner.name, choices[fold], fold + 1));
  }

 private:
  void add_row(const std::string& name, Result<std::vector<ScoreQuery>> scores,
               const std::vector<std::size_t>& fold_of) {
    if (options_.progress) options_.progress(++done_, total_);
    if (scores)
      out_.report.runs.push_back(table_.evaluate_scores(name, *scores, fold_of));
    else
      out_.notes.push_back(name + " was left out: " + scores.error().text);
  }

  const Table& table_;
  const std::vector<std::size_t>& fold_of_;
  const MethodComparisonOptions& options_;
  std::size_t total_;
  MethodComparison& out_;
  std::size_t done_ = 0;
};

}  // namespace

Result<MethodComparison> compare_methods(const std::vector<evaluation::Run>& runs,
                                         const evaluation::Judgments& judgments,
                                         const MethodComparisonOptions& options) {
  TRY(auto methods, chosen_methods(options.methods));
  TRY(auto learners, chosen_learners(options.learners));
  const Table table(judged_items(runs, judgments, options), options);
  if (table.items().empty())
    return fail(Code::bad_data, "runs and judgments share no query; are they of one collection?");
  std::vector<std::size_t> fold_of;
  if (!learners.empty() || std::any_of(methods.begin(), methods.end(), [](const FusionMethod* method) {
        return method->is_supervised || method->needs_weights;
      })) {
    TRY(fold_of, folds_of(table.items(), options));
  }
  MethodComparison out;
  out.report.set = options.set;
  std::optional<RunEvaluation> best;
  out.notes.push_back("best_run is " + runs[best_run(table, runs, options.set, best)].name);
  best->run = "best_run";
  out.report.runs.push_back(std::move(*best));
  ComparisonRows rows(table, fold_of, options, methods.size() + learners.size(), out);
  for (const FusionMethod* method : methods) rows.add(*method);
  if (!learners.empty()) {
    std::vector<std::string> names;
    for (const evaluation::Run& run : runs) names.push_back(run.name);
    TrainingInput input;
    input.depth = static_cast<int>(options.depth);
    input.derive = options.derive;
    input.feedback = options.feedback;
    TrainingInputReport report;
    TRY(const auto set, training_set_of(runs, judgments, input, report));
    for (const Learner* learner : learners) rows.add(*learner, set, names);
  }
  evaluation::ComparisonOptions comparison{options.baseline, options.test, options.seed};
  if (!options.baseline.empty()) TRY_VOID(compare_with_baseline(out.report, comparison));
  return out;
}

}  // namespace metafuse::fusion
