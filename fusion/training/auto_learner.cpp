#include "fusion/training/auto_learner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/json_members.h"
#include "core/parallel.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/features.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/options.h"
#include "fusion/model/state_fields.h"
#include "fusion/training/auto_candidates.h"

// Which learner is best depends on the number of judged queries and of lists, so it is measured: every
// candidate is trained on all folds of the training queries but one and measured on each query of that fold.
// Two kinds of options are safe: plain reciprocal rank fusion (RRF), and blends of RankBoosts and RRF, in
// which RRF counts more the fewer queries are judged. What starts from other domains' models is as safe, and
// comes first where there are such. If a safe option is within the error of the best mean,
// it is taken (Breiman, Friedman, Olshen, Stone 1984, sec. 3.4.3), else the best option. The error is that of
// the paired differences by Student's t, since few queries give a poor estimate of the standard error. Costly
// candidates continue after the first fold only if they are ahead of the first safe option on it. With fewer
// than kFewestForRich base queries only the safe options are compared (with many lists also tuned weights),
// since the best of many would win by luck. For this, only base queries with a relevant document in a list
// count: on the others all candidates are equal. If there are not two to compare on, the first candidate that
// can be trained is taken.
namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostFolds = 10;
/// The number of folds if all candidates are compared, and also with many lists, where tuning the weights
/// alone costs several RankBoosts. More folds would cost more than twenty RankBoosts.
constexpr std::size_t kRichFolds = 2;
/// The certainty required to prefer a later safe option to the first: one standard error.
constexpr double kOneError = evaluation::kOneStandardError;
/// The certainty required to prefer another option to the safe one. By chance alone, one standard error is
/// exceeded in one of six comparisons, and here the best of a dozen options is compared.
constexpr double kSureness = 0.95;
/// Comparing may take this share of the time limit; the rest is for training the chosen option.
constexpr double kShareOfComparing = 0.5;
// A time limit that has passed still lets a learner do the least it must.
constexpr double kLeastSeconds = 1e-3;
constexpr const char* kNoTime = "the time limit left none for it";
constexpr const char* kBehind = "behind on the first part of the queries";

/// An option and its measurements.
struct Choice {
  Option option;
  std::size_t candidate = 0;
  std::vector<double> values;  ///< one per measured query, higher is better
  std::string problem;         ///< why the option is excluded; empty while it is not

  double mean() const {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
};

/// The remaining time of the request's time limit.
class TimeLeft {
 public:
  explicit TimeLeft(const TrainingRequest& request)
      : clock_(request.limit.clock), limit_(clock_ != nullptr ? request.limit.seconds : 0.0) {
    if (is_limited()) begin_ = clock_->now();
  }

  bool is_limited() const { return limit_ > 0.0; }
  double spent() const {
    return is_limited() ? std::chrono::duration<double>(clock_->now() - begin_).count() : 0.0;
  }
  double for_comparing() const { return kShareOfComparing * limit_ - spent(); }
  double for_all() const { return limit_ - spent(); }

 private:
  const Clock* clock_;
  double limit_;
  TimePoint begin_{};
};

struct AutoOptions {
  std::size_t folds = 5;
  double k = kRrfConstant;
};

void declare_options(OptionTable& table, AutoOptions& options) {
  table.count("inner-folds", options.folds, 2, kMostFolds,
              "folds of the training queries that the candidates are compared on");
  table.number("k", options.k, 0.0, 1e6, "k of RRF, alone and in the candidates that start from it");
}

std::vector<Choice> choices_of(const std::vector<Candidate>& candidates) {
  std::vector<Choice> out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (const Option& option : candidates[i].of) out.push_back({option, i, {}, {}});
  return out;
}

/// The candidates, what they are trained on and how they are measured.
struct Trials {
  const TrainingRequest& request;
  TimeLeft time;
  std::string measure;
  std::vector<Candidate> candidates;
  std::vector<TrainingSet> training = {};  ///< one per fold
  std::vector<HeldOutQuery> queries = {};
  std::vector<std::size_t> fold_of = {};  ///< for each query, the fold whose models have not seen it
  /// The number of base queries that can tell candidates apart: those with a relevant document in a list.
  std::size_t telling = 0;

  bool can_compare() const { return telling >= 2; }
};

/// Splits the training queries into folds of base queries; with validation data, makes one fold that is
/// measured on that data.
Result<void> make_folds(const AutoOptions& options, Trials& trials) {
  const TrainingSet* const validate = trials.request.validate;
  const TrainingSet& set = *trials.request.train;
  const TrainingSet& measured = validate != nullptr ? *validate : set;
  TRY(trials.queries, measured_queries(measured, trials.measure));
  trials.telling = count_answerable(measured);
  trials.fold_of.assign(trials.queries.size(), 0);
  if (validate != nullptr) trials.training.push_back(set);
  if (validate != nullptr || !trials.can_compare()) return {};
  const std::size_t most = has_many_lists(set) || trials.telling >= kFewestForRich ? kRichFolds : kMostFolds;
  const std::size_t count = std::min({most, options.folds, trials.telling});
  TRY(const auto fold_of, folds_to_measure(set, count, trials.request.seed));
  for (std::size_t i = 0; i < trials.queries.size(); ++i)
    trials.fold_of[i] = fold_of[trials.queries[i].place];
  for (std::size_t fold = 0; fold < count; ++fold)
    trials.training.push_back(select_queries(set, outside_fold(fold_of, fold)));
  return {};
}

/// Trains a candidate on one fold and stores the values of its choices for the queries of the fold. A
/// training cut short by the time limit measures nothing and is dropped.
/// out: why there is no measurement; empty if there is one
std::string run_trial(const Trials& trials, std::size_t number, std::size_t fold,
                      std::vector<Choice>& choices) {
  const Candidate& candidate = trials.candidates[number];
  const TimeLeft& time = trials.time;
  if (time.is_limited() && time.for_comparing() <= 0.0) return kNoTime;
  TrainingRequest inner;
  inner.train = &trials.training[fold];
  inner.options = candidate.options;
  if (candidate.is_from_prior) inner.prior = trials.request.prior;
  inner.seed = trials.request.seed;
  inner.trace.is_wanted = false;
  if (candidate.learner->can.limit_time && time.is_limited()) {
    inner.limit.clock = trials.request.limit.clock;
    inner.limit.seconds = time.for_comparing();
  }
  const auto trained = candidate.learner->train(inner);
  if (!trained) return trained.error().text;
  if (time.is_limited() && time.for_comparing() <= 0.0) return kNoTime;
  for (Choice& choice : choices) {
    if (choice.candidate != number) continue;
    const auto ranker = choice.option.part ? choice.option.part(trained->model) : trained->model.ranker;
    for (std::size_t i = 0; i < trials.queries.size(); ++i)
      if (trials.fold_of[i] == fold)
        choice.values[i] = trials.queries[i].measure.value(ranker->score(trials.queries[i].set.matrix));
  }
  return {};
}

/// The mean over the queries of one fold.
double mean_of_fold(const Choice& choice, const Trials& trials, std::size_t fold) {
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < trials.queries.size(); ++i)
    if (trials.fold_of[i] == fold) {
      sum += choice.values[i];
      ++count;
    }
  return count > 0.0 ? sum / count : 0.0;
}

/// Excludes each costly candidate that has no option ahead of the first safe one on the first fold.
void leave_out_behind(const Trials& trials, std::vector<Choice>& choices) {
  const auto safe = std::find_if(choices.begin(), choices.end(), [](const Choice& choice) {
    return choice.option.is_safe && choice.problem.empty();
  });
  if (safe == choices.end()) return;
  const double needed = mean_of_fold(*safe, trials, 0);
  for (std::size_t number = 0; number < trials.candidates.size(); ++number) {
    if (!trials.candidates[number].is_costly) continue;
    const bool is_ahead = std::any_of(choices.begin(), choices.end(), [&](const Choice& choice) {
      return choice.candidate == number && mean_of_fold(choice, trials, 0) > needed;
    });
    for (Choice& choice : choices)
      if (choice.candidate == number && choice.problem.empty() && !is_ahead) choice.problem = kBehind;
  }
}

/// Trains every candidate on every fold; costly candidates train on the first fold before any other. The
/// trials share the request's threads; each result depends only on the trial's number.
void run_trials(const Trials& trials, std::vector<Choice>& choices) {
  const TrainingRequest& request = trials.request;
  const std::vector<Candidate>& candidates = trials.candidates;
  const std::size_t folds = trials.training.size();
  for (Choice& choice : choices) choice.values.assign(trials.queries.size(), 0.0);
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  const auto run = [&](const auto& is_wanted) {
    std::vector<std::pair<std::size_t, std::size_t>> tasks;  // (candidate, fold)
    for (std::size_t number = 0; number < candidates.size(); ++number)
      for (std::size_t fold = 0; fold < folds; ++fold)
        if (is_wanted(number, fold)) tasks.emplace_back(number, fold);
    std::vector<std::string> problems(tasks.size());
    parallel_for(tasks.size(), request.threads, [&](std::size_t task) {
      const auto [number, fold] = tasks[task];
      problems[task] = run_trial(trials, number, fold, choices);
      ++done;
      if (request.progress && std::this_thread::get_id() == caller)
        request.progress(done, candidates.size() * folds);
    });
    for (std::size_t task = 0; task < tasks.size(); ++task)
      for (Choice& choice : choices)
        if (choice.candidate == tasks[task].first && choice.problem.empty()) choice.problem = problems[task];
  };
  const auto is_in = [&](std::size_t number) {
    return std::any_of(choices.begin(), choices.end(), [&](const Choice& choice) {
      return choice.candidate == number && choice.problem.empty();
    });
  };
  run([&](std::size_t number, std::size_t fold) { return fold == 0 || !candidates[number].is_costly; });
  if (folds > 1) leave_out_behind(trials, choices);
  run([&](std::size_t number, std::size_t fold) {
    return fold > 0 && candidates[number].is_costly && is_in(number);
  });
}

/// Whether `top` is better than `choice` by no more than the error of their difference.
bool is_within_error(const Choice& top, const Choice& choice, double sureness = kSureness) {
  return top.mean() - choice.mean() <= evaluation::error_of_difference(top.values, choice.values, sureness);
}

/// The index of the first safe option, or of a later safe one that beats it by more than the error.
std::optional<std::size_t> safe_choice(const std::vector<Choice>& choices) {
  std::optional<std::size_t> safe;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i].option.is_safe && choices[i].problem.empty() &&
        (!safe || !is_within_error(choices[i], choices[*safe], kOneError)))
      safe = i;
  return safe;
}

/// The index of the highest mean; a bold option counts only if it beats all others by more than the error.
std::optional<std::size_t> best_choice(const std::vector<Choice>& choices) {
  std::optional<std::size_t> best;
  std::optional<std::size_t> best_sober;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i].problem.empty()) continue;
    if (!best || choices[i].mean() > choices[*best].mean()) best = i;
    if (!choices[i].option.is_bold && (!best_sober || choices[i].mean() > choices[*best_sober].mean()))
      best_sober = i;
  }
  return best && best_sober && is_within_error(choices[*best], choices[*best_sober]) ? best_sober : best;
}

/// Indices of the choices in the order in which to try training: the chosen one, then the others,
/// safest first.
std::vector<std::size_t> order_of_choice(const std::vector<Choice>& choices, bool is_measured) {
  std::vector<std::size_t> order;
  const auto best = is_measured ? best_choice(choices) : std::nullopt;
  if (best) {
    const auto safe = safe_choice(choices);
    order.push_back(safe && is_within_error(choices[*best], choices[*safe]) ? *safe : *best);
  }
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (order.empty() || i != order.front()) order.push_back(i);
  return order;
}

JsonObject record_of(const Trials& trials, const std::vector<Choice>& choices, std::size_t chosen) {
  const bool is_measured = trials.can_compare();
  const bool is_cost = !trials.queries.empty() && trials.queries.front().measure.is_cost;
  JsonArray rows;
  for (const Choice& choice : choices) {
    JsonObject row;
    row["name"] = choice.option.name;
    if (!choice.problem.empty())
      row["left_out"] = choice.problem;
    else if (is_measured)
      row["value"] = is_cost ? -choice.mean() : choice.mean();
    if (is_measured && choice.problem.empty() && choices[chosen].problem.empty() &&
        &choice != &choices[chosen]) {
      row["lead"] = choice.mean() - choices[chosen].mean();
      row["error_of_difference"] =
          evaluation::error_of_difference(choice.values, choices[chosen].values, kSureness);
    }
    rows.push_back(std::move(row));
  }
  return {{"chosen", choices[chosen].option.name},
          {"measure", trials.measure},
          {"measured_queries", is_measured ? trials.queries.size() : 0},
          {"folds", trials.request.validate != nullptr || !is_measured ? 0 : trials.training.size()},
          {"among", std::move(rows)}};
}

/// "RRF's lead of .083 is within the error of .281": why the choice is not the candidate with the best mean.
/// Empty if it is.
std::string lead_text(const JsonObject& choice) {
  const Json* lead = choice.if_contains("lead");
  if (lead == nullptr) return {};
  const JsonObject& of = lead->as_object();
  const std::string name(of.at("name").as_string());
  return fmt::format("{}{} lead of {:.3f} is within the error of {:.3f}", name,
                     name.ends_with('s') ? "'" : "'s", of.at("by").to_number<double>(),
                     of.at("error").to_number<double>());
}

std::string summary_of(const JsonObject& record) {
  const std::string chosen(record.at("chosen").as_string());
  const auto queries = record.at("measured_queries").to_number<std::size_t>();
  if (queries == 0) return fmt::format("auto chose {}: too few judged queries to compare by\n", chosen);
  const std::string measure(record.at("measure").as_string());
  const std::string lead = lead_text(brief_choice({{"auto", record}}));
  const JsonArray& among = record.at("among").as_array();
  const bool is_compared =
      std::ranges::any_of(among, [](const Json& row) { return row.as_object().contains("value"); });
  std::string text =
      !is_compared   ? fmt::format("auto chose {} without comparing\n", chosen)
      : lead.empty() ? fmt::format("auto chose {} by {} of {} queries among\n", chosen, measure, queries)
                     : fmt::format("auto kept {}: {} on {} queries ({})\n", chosen, lead, queries, measure);
  for (const Json& item : among) {
    const JsonObject& row = item.as_object();
    const std::string name(row.at("name").as_string());
    if (const Json* why = row.if_contains("left_out"))
      text += fmt::format("  {}: left out, {}\n", name, std::string(why->as_string()));
    else
      text += fmt::format("  {}: {:.4f}\n", name, row.at("value").to_number<double>());
  }
  return text;
}

/// Keeps only the options that are compared when few queries are judged; keeps all if there is no
/// such option.
void keep_those_for_few(std::vector<Candidate>& candidates) {
  const auto has_for_few = [](const Candidate& each) {
    return std::ranges::any_of(each.of, &Option::is_for_few);
  };
  if (std::none_of(candidates.begin(), candidates.end(), has_for_few)) return;
  std::erase_if(candidates, [&](const Candidate& each) { return !has_for_few(each); });
  for (Candidate& each : candidates) std::erase_if(each.of, std::not_fn(&Option::is_for_few));
}

/// Trains the option that was chosen. The request's validation data must not cut rounds again.
Result<TrainingResult> train_option(const Option& option, const TrainingRequest& request,
                                    const TimeLeft& time) {
  TrainingRequest last = request;
  last.options = option.options;
  if (!option.is_from_prior) last.prior = nullptr;
  last.limit.clock = option.learner->can.limit_time ? request.limit.clock : nullptr;
  last.limit.seconds = time.is_limited() ? std::max(time.for_all(), kLeastSeconds) : 0.0;
  last.validate = nullptr;
  last.measure.value = nullptr;
  last.progress = nullptr;
  return option.learner->train(last);
}

Result<TrainingResult> train_auto(const TrainingRequest& request, const std::vector<Learner>& learners) {
  TRY(const auto options, read_options<AutoOptions>(request.options));
  Trials trials{request, TimeLeft(request), request.measure.name.empty() ? "map" : request.measure.name,
                auto_candidates(*request.train, learners, options.k, request.prior != nullptr)};
  TRY_VOID(make_folds(options, trials));
  if (trials.telling < kFewestForRich) keep_those_for_few(trials.candidates);
  std::vector<Choice> choices = choices_of(trials.candidates);
  const bool is_measured = trials.can_compare();
  if (is_measured) run_trials(trials, choices);
  std::optional<Error> problem;
  for (const std::size_t place : order_of_choice(choices, is_measured)) {
    const Option& option = choices[place].option;
    auto trained = train_option(option, request, trials.time);
    if (!trained) {
      if (!problem) problem = trained.error();
      choices[place].problem = trained.error().text;
      continue;
    }
    JsonObject record = record_of(trials, choices, place);
    trained->summary = summary_of(record) + trained->summary;
    trained->model.training["auto"] = std::move(record);
    trained->again = [option](const TrainingRequest& other) {
      return train_option(option, other, TimeLeft(other));
    };
    return trained;
  }
  return *problem;
}

/// A candidate's row if it has a name and a value; else nullptr.
const JsonObject* measured_row(const Json& item) {
  const JsonMembers row(item);
  return row.text("name") != nullptr && row.number("value") != nullptr ? item.if_object() : nullptr;
}

double lead_in(const JsonObject& row) {
  return JsonMembers(row).number_or("lead");
}

}  // namespace

JsonObject brief_choice(const JsonObject& training) {
  JsonObject out;
  const JsonMembers record = JsonMembers(training).inner("auto");  // of a file, which may say anything
  const auto* chosen = record.text("chosen");
  if (chosen == nullptr) return out;
  out["chosen"] = *chosen;
  out["queries"] = count_of(record.number_or("measured_queries"));
  const JsonArray* among = record.array("among");
  if (among == nullptr) return out;
  const JsonObject* leader = nullptr;
  for (const Json& item : *among) {
    const JsonObject* row = measured_row(item);
    if (row == nullptr) continue;
    if (row->at("name").get_string() == *chosen) out["value"] = row->at("value");
    if (row->at("name").get_string() == kRrfCandidate) out["rrf"] = row->at("value");
    if (row->contains("lead") && (leader == nullptr || lead_in(*row) > lead_in(*leader))) leader = row;
  }
  if (leader != nullptr && lead_in(*leader) > 0.0)
    out["lead"] = JsonObject{{"name", leader->at("name")},
                             {"by", lead_in(*leader)},
                             {"error", JsonMembers(*leader).number_or("error_of_difference")}};
  if (const Json* measure = record.find("measure"); measure != nullptr && out.contains("value"))
    out["measure"] = *measure;
  return out;
}

std::string brief_choice_text(const JsonObject& training) {
  const JsonObject choice = brief_choice(training);
  if (choice.empty()) return {};
  std::string text(choice.at("chosen").as_string());
  const Json* measure = choice.if_contains("measure");
  if (measure == nullptr || !measure->is_string()) return text + " (too few judged queries to compare by)";
  text +=
      fmt::format(" ({} {:.4f}", std::string(measure->as_string()), choice.at("value").to_number<double>());
  if (const Json* rrf = choice.if_contains("rrf"))
    text += fmt::format(", RRF {:.4f}", rrf->to_number<double>());
  text += fmt::format(", {} queries", choice.at("queries").to_number<std::size_t>());
  const std::string lead = lead_text(choice);
  return text + (lead.empty() ? ")" : "; kept, since " + lead + ")");
}

Learner auto_learner(std::vector<Learner> learners) {
  Learner row;
  row.name = "auto";
  row.meaning =
      "the learner that cross-validation within the training queries finds best, from RRF to bags and trees";
  row.source = "Breiman, Friedman, Olshen, Stone 1984, sec. 3.4.3 (the rule of one standard error)";
  row.options = option_rows<AutoOptions>();
  const auto shared = std::make_shared<const std::vector<Learner>>(std::move(learners));
  row.train = [shared](const TrainingRequest& request) { return train_auto(request, *shared); };
  row.can.start_from = true;
  row.can.validate = true;
  row.can.limit_time = true;
  row.chooses_by_measure = true;
  return row;
}

}  // namespace metafuse::fusion
