#include "experiments/rankboost_plus/outcome.h"

#include "core/parallel.h"
#include "evaluation/measures/average_ranks.h"
#include "experiments/interval.h"
#include "experiments/progress_counter.h"

namespace metafuse::experiments::rankboost_plus {
namespace {

using fusion::rankboost_plus::form_name;

std::size_t metric_count(const Outcome& outcome) {
  return outcome.has_map ? kMetrics : kMap;
}

}  // namespace

Result<Outcome> compare(std::string name, const Tasks& tasks, const ComparisonOptions& plan,
                        const ExperimentOptions& options) {
  if (tasks.tasks.empty()) return fail(Code::bad_data, name + ": no task has feedback in every part");
  Outcome outcome{std::move(name), tasks.left_out, plan.has_map, {}};
  outcome.trials.resize(tasks.tasks.size());
  std::vector<Result<void>> results(tasks.tasks.size());
  ProgressCounter progress(options.progress, tasks.tasks.size());
  parallel_for(tasks.tasks.size(), options.threads, [&](std::size_t t) {
    for (std::size_t form = 0; form < kForms.size(); ++form)
      for (const Split& split : tasks.tasks[t].folds) {
        auto trial =
            run_trial(split, kForms[form], {plan.rounds, plan.has_map, plan.has_all_losses, options.seed});
        if (!trial) {
          results[t] = fail(trial.error().code, tasks.tasks[t].name + ": " + trial.error().text);
          return;
        }
        outcome.trials[t][form].push_back(std::move(*trial));
      }
    progress.add();
  });
  for (const auto& result : results)
    if (!result) return result.error();
  return outcome;
}

void describe(const Outcome& outcome, PaperReport& report) {
  std::vector<std::vector<std::string>> ranks = {
      {outcome.name + ", " + std::to_string(outcome.trials.size()) + " tasks: average rank"}};
  std::vector<std::vector<std::string>> means = {{outcome.name + ": mean"}};
  std::vector<std::string> p_values = {"Friedman's p"};
  std::vector<std::string> differences = {"Nemenyi's critical difference"};
  JsonObject json;
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    ranks.push_back({std::string(form_name(kForms[form]))});
    means.push_back({std::string(form_name(kForms[form]))});
  }
  for (std::size_t metric = 0; metric < metric_count(outcome); ++metric) {
    const auto comparison = evaluation::compare_ranks(outcome.values(metric), is_cost(metric));
    ranks[0].push_back(kMetricNames[metric]);
    means[0].push_back(kMetricNames[metric]);
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      ranks[form + 1].push_back(fixed(comparison.average_ranks[form], 3));
      means[form + 1].push_back(fixed(outcome.mean(form, metric), 4));
    }
    p_values.push_back(fixed(comparison.p_value, 4));
    differences.push_back(fixed(comparison.critical_difference, 3));
    json[kMetricNames[metric]] = JsonObject{
        {"average_ranks", JsonArray(comparison.average_ranks.begin(), comparison.average_ranks.end())},
        {"p", comparison.p_value},
        {"critical_difference", comparison.critical_difference}};
  }
  ranks.push_back(p_values);
  ranks.push_back(differences);
  report.text += columns(ranks) + columns(means);
  if (outcome.left_out > 0)
    report.text += std::to_string(outcome.left_out) +
                   " tasks left out: no feature, too many pairs, or a part of a "
                   "fold with a single grade\n\n";
  report.json[outcome.name] = std::move(json);
}

}  // namespace metafuse::experiments::rankboost_plus
