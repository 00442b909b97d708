#include "fusion/training/method_comparison.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/text.h"
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

/// The grades of a ranking of document numbers, as evaluation needs them.
JudgedRanking ranking_of(const JudgedLists& item, std::vector<std::uint32_t> order, std::size_t limit) {
  JudgedRanking ranking;
  if (limit > 0 && order.size() > limit) order.resize(limit);
  for (const std::uint32_t document : order) {
    const evaluation::Judgment* judgment = item.judgments->find(item.query.documents[document]);
    ranking.grades.push_back(judgment == nullptr   ? evaluation::kNotPooled
                             : judgment->grade < 0 ? evaluation::kUnjudged
                                                   : judgment->grade);
  }
  ranking.judged = evaluation::grade_counts(*item.judgments);
  return ranking;
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

Result<std::vector<const Learner*>> chosen_learners(const MethodComparisonOptions& options) {
  std::vector<const Learner*> out;
  for (const std::string& name : options.learners) {
    TRY(const Learner* learner, learner_named(name, options.table));
    out.push_back(learner);
  }
  return out;
}

/// Refuses an option that none of the learners has: it would change nothing.
Result<void> check_learner_options(const std::vector<const Learner*>& learners,
                                   const std::map<std::string, std::string>& given) {
  std::set<std::string> known;
  for (const Learner* learner : learners)
    for (const LearnerOption& option : learner->options) known.insert(option.name);
  for (const auto& [name, value] : given)
    if (!known.contains(name))
      return fail(Code::usage, fmt::format("none of the learners has an option \"{}\"{}", name,
                                           did_you_mean(name, {known.begin(), known.end()})));
  return {};
}

/// The judgments of the queries that count under the rules.
evaluation::Judgments evaluated(const evaluation::Judgments& judgments, const evaluation::Rules& rules) {
  evaluation::Judgments out{{}, judgments.storage};
  std::ranges::copy_if(judgments.queries, std::back_inserter(out.queries),
                       [&](const auto& query) { return evaluation::is_evaluated(query, rules); });
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

bool is_learned(const FusionMethod& method) {
  return method.is_supervised || method.needs_weights;
}

/// Adds rows to a comparison one by one and reports progress.
class ComparisonRows {
 public:
  /// in: judgments - of all queries; items - those of them that a run answers
  ComparisonRows(const evaluation::Judgments& judgments, std::vector<JudgedLists> items,
                 const MethodComparisonOptions& options, std::size_t total, MethodComparison& out)
      : items_(std::move(items)),
        missing_(judgments.queries.size() - items_.size()),
        options_(options),
        rules_(options.evaluation.rules),
        total_(total),
        out_(out) {
    out_.report.set = options.set;
    rules_.top_grade = evaluation::highest_grade(judgments);
  }

  /// To be called before rows that learn.
  Result<void> make_folds() {
    std::vector<std::string_view> queries;
    for (const JudgedLists& item : items_) queries.push_back(item.judgments->query);
    TRY(folds_, evaluation::random_folds(queries, options_.folds, options_.significance.seed));
    return {};
  }

  /// The run with the best value of the first measure.
  void add_best_of(const std::vector<evaluation::Run>& runs) {
    std::optional<RunEvaluation> best;
    const double sign = options_.set.measure_of(0).is_cost ? -1.0 : 1.0;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      RunEvaluation row = evaluate_row(runs[run].name, [&](std::size_t i) {
        std::vector<std::uint32_t> order;
        for (const ListEntry& entry : items_[i].query.lists[run]) order.push_back(entry.document);
        return order;
      });
      if (!best || sign * row.summary[0] > sign * best->summary[0]) best = std::move(row);
    }
    out_.notes.push_back("best_run is " + best->run);
    best->run = "best_run";
    out_.report.runs.push_back(std::move(*best));
  }

  void add(const FusionMethod& method) {
    if (is_learned(method)) return add_row(method.name, train(method));
    const ScoreQuery fuse = [&method](const QueryLists& query) { return fuse_scores(method, query, {}); };
    add_row(method.name, std::vector<ScoreQuery>(std::max<std::size_t>(1, folds_.count), fuse));
  }

  void add(const Learner& learner, const TrainingSet& set, const std::vector<evaluation::Run>& runs) {
    std::vector<std::string> names;
    for (const evaluation::Run& run : runs) names.push_back(run.name);
    std::vector<std::string> choices;
    add_row(learner.name, train(learner, set, names, choices));
    for (std::size_t fold = 0; fold < choices.size(); ++fold)
      out_.notes.push_back(fmt::format("{} chose {} in fold {}", learner.name, choices[fold], fold + 1));
  }

 private:
  /// in: order_of(query number) - the fused order of the query's documents
  template <class OrderOf>
  RunEvaluation evaluate_row(const std::string& name, OrderOf order_of) const {
    RunEvaluation row;
    row.run = name;
    row.missing = missing_;
    row.values.resize(items_.size() * options_.set.size());
    for (const JudgedLists& item : items_) row.queries.emplace_back(item.judgments->query);
    parallel_for(items_.size(), options_.evaluation.threads, [&](std::size_t i) {
      const JudgedRanking ranking = ranking_of(items_[i], order_of(i), options_.evaluation.depth);
      evaluation::evaluate(options_.set, ranking, rules_,
                           std::span(row.values).subspan(i * options_.set.size(), options_.set.size()));
    });
    summarise(row, options_.set, options_.evaluation);
    return row;
  }

  /// in: score_of_fold - how to score the queries of each fold
  void add_row(const std::string& name, Result<std::vector<ScoreQuery>> score_of_fold) {
    if (options_.progress) options_.progress(++done_, total_);
    if (!score_of_fold) {
      out_.notes.push_back(name + " was left out: " + score_of_fold.error().text);
      out_.left_out.emplace(name, score_of_fold.error());
      return;
    }
    out_.report.runs.push_back(evaluate_row(name, [&](std::size_t i) {
      const QueryLists& query = items_[i].query;
      return fused_order(query, (*score_of_fold)[folds_.count == 0 ? 0 : folds_.fold_of[i]](query));
    }));
  }

  Result<std::vector<ScoreQuery>> train(const FusionMethod& method) const {
    std::vector<ScoreQuery> out;
    for (std::size_t fold = 0; fold < folds_.count; ++fold) {
      std::vector<JudgedLists> seen;
      for (std::size_t i = 0; i < items_.size(); ++i)
        if (folds_.fold_of[i] != fold) seen.push_back(items_[i]);
      TRY(auto learned, train_fusion(method, seen, {}));
      out.push_back([&method, own = std::move(learned)](const QueryLists& query) {
        return fuse_scores(method, query, own);
      });
    }
    return out;
  }

  Result<std::vector<ScoreQuery>> train(const Learner& learner, const TrainingSet& set,
                                        const std::vector<std::string>& names,
                                        std::vector<std::string>& choices) const {
    std::vector<ScoreQuery> out;
    for (std::size_t fold = 0; fold < folds_.count; ++fold) {
      std::vector<std::size_t> kept;
      for (std::size_t query = 0; query < set.queries.size(); ++query)
        if (folds_.fold_of[query] != fold) kept.push_back(query);
      TrainingSet seen = select_queries(set, kept);
      seen.feedback.query_weights = learner.takes_query_weights ? options_.feedback.query_weights
                                                                : FeedbackOptions::QueryWeights::pairs;
      TrainingRequest request;
      request.train = &seen;
      request.options = options_for(learner, options_.learner_options);
      request.measure.name = options_.set.names.empty() ? "" : options_.set.names.front();
      request.seed = options_.significance.seed;
      request.threads = options_.evaluation.threads;
      TRY(auto trained, learner.train(request));
      if (std::string choice = brief_choice_text(trained.model.training); !choice.empty())
        choices.push_back(std::move(choice));
      TRY(auto score, score_with_model(trained.model, names, false));
      out.push_back(std::move(score));
    }
    return out;
  }

  std::vector<JudgedLists> items_;
  std::size_t missing_;
  const MethodComparisonOptions& options_;
  evaluation::Rules rules_;
  std::size_t total_;
  MethodComparison& out_;
  evaluation::Folds folds_;
  std::size_t done_ = 0;
};

}  // namespace

Result<MethodComparison> compare_methods(const std::vector<evaluation::Run>& runs,
                                         const evaluation::Judgments& all_judgments,
                                         const MethodComparisonOptions& options) {
  TRY(auto methods, chosen_methods(options.methods));
  TRY(auto learners, chosen_learners(options));
  TRY_VOID(check_learner_options(learners, options.learner_options));
  const evaluation::Rules& rules = options.evaluation.rules;
  const evaluation::Judgments judgments = evaluated(all_judgments, rules);
  auto items = judged_lists(judgments, rules.relevance_level, [&](std::string_view query) {
    return lists_of_topic(runs, query, options.depth);
  });
  if (items.empty())
    return fail(Code::bad_data, "runs and judgments share no query; are they of one collection?");
  MethodComparison out;
  ComparisonRows rows(judgments, std::move(items), options, methods.size() + learners.size(), out);
  if (!learners.empty() ||
      std::ranges::any_of(methods, [](const auto* method) { return is_learned(*method); }))
    TRY_VOID(rows.make_folds());
  rows.add_best_of(runs);
  for (const FusionMethod* method : methods) rows.add(*method);
  if (!learners.empty()) {
    TrainingInput input;
    input.depth = static_cast<int>(options.depth);
    input.derive = options.derive;
    input.feedback = options.feedback;
    input.feedback.relevance_level = rules.relevance_level;
    TrainingInputReport report;
    TRY(const auto set, training_set_of(runs, judgments, input, report));
    for (const Learner* learner : learners) rows.add(*learner, set, runs);
  }
  if (!options.significance.baseline.empty())
    TRY_VOID(compare_with_baseline(out.report, options.significance));
  return out;
}

}  // namespace metafuse::fusion
