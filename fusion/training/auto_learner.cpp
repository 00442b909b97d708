#include "fusion/training/auto_learner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include "core/parallel.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/model/weak_ranking.h"
#include "fusion/training/auto_candidates.h"

// What is best depends on how many queries are judged and on how many lists there are, so it is measured:
// every candidate is trained on all folds of the training queries but one and measured on that one, query by
// query. Two candidates are safe: RankBoost that starts from reciprocal rank fusion and moves away from it
// only as far as the number of crucial pairs allows, which needs no comparison, and plain reciprocal rank
// fusion. A safe candidate within one standard error of the best mean is taken (Breiman, Friedman, Olshen,
// Stone 1984, sec. 3.4.3), else the best; the error is that of the paired differences, widened by Student's t
// since a few queries estimate it badly. With fewer than kFewestForRich queries the safe candidates alone are
// compared (with many lists tuned weights too): among many the luckiest would win. Without two queries to
// compare on, the first that can be trained is taken.
namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostFolds = 10;
constexpr std::size_t kFewestForRich = 20;
/// Folds when all candidates are compared: three cost half of what five do, and two half of that. Two are
/// enough of many queries; with many lists tuned weights alone cost several RankBoosts.
constexpr std::size_t kRichFolds = 3;
constexpr std::size_t kCheapFolds = 2;
constexpr std::size_t kManyListsFolds = 3;
/// What a normal variable exceeds by one standard error or more with the probability that is left.
constexpr double kOneErrorLevel = 0.841344746068543;
/// Comparing may take this share of the time limit; the rest is for training what was chosen.
constexpr double kShareOfComparing = 0.5;
constexpr double kLeastSeconds = 1e-3;  // a limit that has passed still lets a learner do what it must
constexpr const char* kNoTime = "the time limit left none for it";
/// A candidate at one number of rounds, and how it did.
struct Choice {
  std::string name;
  std::size_t candidate = 0;
  std::optional<std::size_t> rounds;  ///< as Cut::rounds
  std::vector<double> values;         ///< one per query that is measured, higher is better
  std::string problem;                ///< why it is out; empty while it is in
  bool is_safe = false;               ///< as its candidate
  bool is_bold = false;               ///< as its candidate
  double seconds = 0.0;               ///< of the longest trial; only known under a time limit

  double mean() const {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
};

/// What is left of the request's time limit.
class TimeLeft {
 public:
  explicit TimeLeft(const TrainingRequest& request)
      : clock_(request.clock), limit_(clock_ != nullptr ? request.time_limit_seconds : 0.0) {
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
};

void declare_options(OptionTable& table, AutoOptions& options) {
  table.count("inner-folds", options.folds, 2, kMostFolds,
              "folds of the training queries that the candidates are compared on");
}

std::vector<Choice> choices_of(const std::vector<Candidate>& candidates) {
  std::vector<Choice> out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (const Cut& cut : candidates[i].cuts)
      out.push_back({cut.name, i, cut.rounds, {}, {}, candidates[i].is_safe, candidates[i].is_bold});
  return out;
}

/// A query that candidates are measured on, by a model that has not seen it.
struct MeasuredQueryOfFold {
  TrainingSet set;
  ValidationMeasure measure;
  std::size_t fold = 0;
};

/// What candidates are trained on and measured by.
struct Trials {
  std::vector<TrainingSet> training;  ///< one per fold
  std::vector<MeasuredQueryOfFold> queries;
};

/// Queries of a set that have a relevant document, each as a set of its own.
Result<std::vector<MeasuredQueryOfFold>> measured_queries(const TrainingSet& set,
                                                          const std::string& measure) {
  std::vector<MeasuredQueryOfFold> out;
  for (std::size_t query = 0; query < set.queries.size(); ++query) {
    TrainingSet own = select_queries(set, std::span(&query, 1));
    auto value = validation_measure(own, measure);
    if (!value && value.error().code == Code::usage) return value.error();  // no such measure
    if (!value) continue;                                                   // nothing relevant to find
    out.push_back({std::move(own), std::move(*value), 0});
  }
  return out;
}

/// Folds of the training queries; with validation data one fold, which is measured on that.
Result<Trials> make_trials(const TrainingRequest& request, const AutoOptions& options,
                           const std::string& measure) {
  Trials trials;
  const TrainingSet& set = *request.train;
  TRY(auto queries, measured_queries(request.validate != nullptr ? *request.validate : set, measure));
  trials.queries = std::move(queries);
  if (request.validate != nullptr) {
    trials.training.push_back(set);
    return trials;
  }
  if (trials.queries.size() < 2) return trials;
  std::vector<std::string_view> ids;
  for (const MeasuredQueryOfFold& query : trials.queries) ids.push_back(query.set.queries.front().id);
  const bool are_many = has_many_lists(set);
  std::size_t most = are_many ? kManyListsFolds : kMostFolds;
  if (ids.size() >= kFewestForRich)
    most = are_many || ids.size() > kMostQueriesForBags ? kCheapFolds : kRichFolds;
  const std::size_t count = std::min({most, options.folds, ids.size()});
  TRY(const auto folds, evaluation::random_folds(ids, count, request.seed));
  for (std::size_t i = 0; i < ids.size(); ++i) trials.queries[i].fold = folds.fold_of[i];
  for (std::size_t fold = 0; fold < count; ++fold) {
    std::vector<std::size_t> kept;
    for (std::size_t query = 0, i = 0; query < set.queries.size(); ++query) {
      const bool is_measured = i < ids.size() && ids[i] == set.queries[query].id;
      if (!is_measured || folds.fold_of[i] != fold) kept.push_back(query);
      if (is_measured) ++i;
    }
    trials.training.push_back(select_queries(set, kept));
  }
  return trials;
}

/// The ranker of the first rounds alone; the whole one where rounds are not told apart.
std::shared_ptr<const Ranker> cut(const Model& model, std::optional<std::size_t> rounds) {
  if (!rounds) return model.ranker;
  if (const auto* sum = dynamic_cast<const reciprocal_ranks::ReciprocalRanker*>(model.ranker.get()))
    return std::make_shared<reciprocal_ranks::ReciprocalRanker>(sum->first_rounds(*rounds, model.features));
  const auto* steps = dynamic_cast<const StepRanker*>(model.ranker.get());
  if (steps == nullptr || steps->rankings().size() <= *rounds) return model.ranker;
  const auto end = steps->rankings().begin() + static_cast<std::ptrdiff_t>(*rounds);
  return std::make_shared<StepRanker>(std::vector<WeakRanking>(steps->rankings().begin(), end),
                                      model.features);
}

/// How a candidate's training on one fold went.
struct TrialOutcome {
  std::string problem;
  double seconds = 0.0;
};

/// Trains a candidate on one fold and fills in its choices' values of the fold's queries. What the time limit
/// cut short is no measurement, and is left out.
TrialOutcome run_trial(const Trials& trials, const Candidate& candidate, std::size_t number, std::size_t fold,
                       const TrainingRequest& request, const TimeLeft& time, std::vector<Choice>& choices) {
  if (time.is_limited() && time.for_comparing() <= 0.0) return {kNoTime};
  const double begin = time.spent();
  TrainingRequest inner;
  inner.train = &trials.training[fold];
  inner.options = candidate.options;
  if (!candidate.trial_bags.empty()) inner.options["bags"] = candidate.trial_bags;
  inner.seed = request.seed;
  inner.wants_trace = false;
  if (candidate.learner->can_limit_time && time.is_limited()) {
    inner.clock = request.clock;
    inner.time_limit_seconds = time.for_comparing();
  }
  const auto trained = candidate.learner->train(inner);
  if (!trained) return {trained.error().text};
  if (time.is_limited() && time.for_comparing() <= 0.0) return {kNoTime};
  for (Choice& choice : choices) {
    if (choice.candidate != number) continue;
    const auto ranker = cut(trained->model, choice.rounds);
    for (std::size_t i = 0; i < trials.queries.size(); ++i)
      if (trials.queries[i].fold == fold)
        choice.values[i] = trials.queries[i].measure.value(ranker->score(trials.queries[i].set.matrix));
  }
  return {{}, time.spent() - begin};
}

/// Trains every candidate on every fold. The trials share the request's threads; each is a function of
/// its number.
void run_trials(const Trials& trials, const std::vector<Candidate>& candidates,
                const TrainingRequest& request, const TimeLeft& time, std::vector<Choice>& choices) {
  const std::size_t folds = trials.training.size();
  for (Choice& choice : choices) choice.values.assign(trials.queries.size(), 0.0);
  std::vector<std::vector<TrialOutcome>> outcomes(candidates.size(), std::vector<TrialOutcome>(folds));
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  parallel_for(candidates.size() * folds, request.threads, [&](std::size_t task) {
    const std::size_t number = task / folds;
    const std::size_t fold = task % folds;
    outcomes[number][fold] = run_trial(trials, candidates[number], number, fold, request, time, choices);
    ++done;
    if (request.progress && std::this_thread::get_id() == caller)
      request.progress(done, candidates.size() * folds);
  });
  for (Choice& choice : choices)
    for (const TrialOutcome& outcome : outcomes[choice.candidate]) {
      if (choice.problem.empty()) choice.problem = outcome.problem;
      choice.seconds = std::max(choice.seconds, outcome.seconds);
    }
}

/// How far the mean of the differences a - b may be off: one standard error, widened by Student's t.
double error_of_difference(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double mean = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) mean += (a[i] - b[i]) / n;
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  const boost::math::students_t_distribution<double> t(n - 1.0);
  return boost::math::quantile(t, kOneErrorLevel) * std::sqrt(squares / (n - 1.0) / n);
}

/// Whether the first is better than the second by no more than the error of their difference.
bool is_within_error(const Choice& top, const Choice& choice) {
  return top.mean() - choice.mean() <= error_of_difference(top.values, choice.values);
}

/// The place of the highest mean; a bold one's only where it is beyond its error of all others.
std::optional<std::size_t> best_choice(const std::vector<Choice>& choices) {
  std::optional<std::size_t> best;
  std::optional<std::size_t> best_sober;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i].problem.empty()) continue;
    if (!best || choices[i].mean() > choices[*best].mean()) best = i;
    if (!choices[i].is_bold && (!best_sober || choices[i].mean() > choices[*best_sober].mean()))
      best_sober = i;
  }
  return best && best_sober && is_within_error(choices[*best], choices[*best_sober]) ? best_sober : best;
}

/// Places of the choices in the order of training: the chosen one, then from the safest on.
std::vector<std::size_t> order_of_choice(const std::vector<Choice>& choices, bool is_measured) {
  std::vector<std::size_t> order;
  const auto best = is_measured ? best_choice(choices) : std::nullopt;
  if (best) {
    const Choice& top = choices[*best];
    const auto safe = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
      return choice.is_safe && choice.problem.empty() && is_within_error(top, choice);
    });
    order.push_back(safe == choices.end() ? *best : static_cast<std::size_t>(safe - choices.begin()));
  }
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (order.empty() || i != order.front()) order.push_back(i);
  return order;
}

JsonObject record_of(const std::vector<Choice>& choices, std::size_t chosen, const std::string& measure,
                     const Trials& trials, bool has_validation) {
  const bool is_measured = !trials.training.empty() && trials.queries.size() >= 2;
  const bool is_cost = !trials.queries.empty() && trials.queries.front().measure.is_cost;
  JsonArray rows;
  for (const Choice& choice : choices) {
    JsonObject row;
    row["name"] = choice.name;
    if (!choice.problem.empty())
      row["left_out"] = choice.problem;
    else if (is_measured)
      row["value"] = is_cost ? -choice.mean() : choice.mean();
    if (is_measured && choice.problem.empty() && choices[chosen].problem.empty() &&
        &choice != &choices[chosen])
      row["error_of_difference"] = error_of_difference(choice.values, choices[chosen].values);
    rows.push_back(std::move(row));
  }
  return {{"chosen", choices[chosen].name},
          {"measure", measure},
          {"measured_queries", is_measured ? trials.queries.size() : 0},
          {"folds", has_validation || !is_measured ? 0 : trials.training.size()},
          {"among", std::move(rows)}};
}

std::string summary_of(const JsonObject& record) {
  std::string text = fmt::format("auto chose {}", std::string(record.at("chosen").as_string()));
  if (record.at("measured_queries").to_number<std::size_t>() == 0)
    return text + ": too few judged queries to compare by\n";
  text += fmt::format(" by {} of {} queries among\n", std::string(record.at("measure").as_string()),
                      record.at("measured_queries").to_number<std::size_t>());
  for (const Json& item : record.at("among").as_array()) {
    const JsonObject& row = item.as_object();
    const std::string name(row.at("name").as_string());
    if (const Json* why = row.if_contains("left_out"))
      text += fmt::format("  {}: left out, {}\n", name, std::string(why->as_string()));
    else
      text += fmt::format("  {}: {:.4f}\n", name, row.at("value").to_number<double>());
  }
  return text;
}

Result<TrainingResult> train_auto(const TrainingRequest& request, const std::vector<Learner>& learners) {
  TRY(const auto options, read_options<AutoOptions>(request.options));
  const TimeLeft time(request);
  const std::string measure = request.measure_name.empty() ? "map" : request.measure_name;
  std::vector<Candidate> candidates = auto_candidates(*request.train, learners);
  TRY(const auto trials, make_trials(request, options, measure));
  const auto is_for_few = [](const Candidate& each) { return each.is_for_few; };
  if (trials.queries.size() < kFewestForRich && std::any_of(candidates.begin(), candidates.end(), is_for_few))
    std::erase_if(candidates, [&](const Candidate& each) { return !is_for_few(each); });
  std::vector<Choice> choices = choices_of(candidates);
  const bool is_measured = !trials.training.empty() && trials.queries.size() >= 2;
  if (is_measured) run_trials(trials, candidates, request, time, choices);
  std::optional<Error> problem;
  for (const std::size_t place : order_of_choice(choices, is_measured)) {
    const Candidate& candidate = candidates[choices[place].candidate];
    TrainingRequest last = request;
    last.options = candidate.options;
    if (choices[place].rounds) last.options["rounds"] = std::to_string(*choices[place].rounds);
    last.clock = candidate.learner->can_limit_time ? request.clock : nullptr;
    last.time_limit_seconds = time.is_limited() ? std::max(time.for_all(), kLeastSeconds) : 0.0;
    // The choice has been made: what is left of the request's validation is not to cut it again.
    last.validate = nullptr;
    last.measure = nullptr;
    last.progress = nullptr;
    auto trained = candidate.learner->train(last);
    if (!trained) {
      if (!problem) problem = trained.error();
      choices[place].problem = trained.error().text;
      continue;
    }
    JsonObject record = record_of(choices, place, measure, trials, request.validate != nullptr);
    trained->summary = summary_of(record) + trained->summary;
    trained->model.training["auto"] = std::move(record);
    return trained;
  }
  return *problem;
}

/// A whole number of a model's record, 0 where there is none: files are written by anybody.
std::size_t count_in(const JsonObject& record, std::string_view key) {
  const Json* value = record.if_contains(key);
  return value != nullptr && value->is_number() && value->to_number<double>() >= 0.0
             ? static_cast<std::size_t>(value->to_number<double>())
             : 0;
}

}  // namespace

JsonObject brief_choice(const JsonObject& training) {
  JsonObject out;
  const Json* found = training.if_contains("auto");
  if (found == nullptr || !found->is_object()) return out;
  const JsonObject& record = found->get_object();
  const Json* chosen = record.if_contains("chosen");
  if (chosen == nullptr || !chosen->is_string()) return out;
  out["chosen"] = *chosen;
  out["queries"] = count_in(record, "measured_queries");
  const Json* among = record.if_contains("among");
  if (among == nullptr || !among->is_array()) return out;
  for (const Json& item : among->get_array()) {
    if (!item.is_object()) continue;
    const Json* name = item.get_object().if_contains("name");
    const Json* value = item.get_object().if_contains("value");
    if (name == nullptr || value == nullptr || !value->is_number()) continue;
    if (*name == *chosen) out["value"] = *value;
    if (*name == Json(kRrfCandidate)) out["rrf"] = *value;
  }
  if (const Json* measure = record.if_contains("measure"); measure != nullptr && out.contains("value"))
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
  return text + fmt::format(", {} queries)", choice.at("queries").to_number<std::size_t>());
}

Learner auto_learner(std::vector<Learner> learners) {
  Learner row;
  row.name = "auto";
  row.meaning = "what cross-validation inside the training queries finds best, from RRF to bags and trees";
  row.source = "Breiman, Friedman, Olshen, Stone 1984, sec. 3.4.3 (the rule of one standard error)";
  row.options = option_rows<AutoOptions>();
  const auto shared = std::make_shared<const std::vector<Learner>>(std::move(learners));
  row.train = [shared](const TrainingRequest& request) { return train_auto(request, *shared); };
  row.read = [](const JsonObject&, const std::vector<Feature>&) -> Result<std::shared_ptr<const Ranker>> {
    return fail(Code::bad_data, "learner: auto trains models of other learners and has none of its own");
  };
  row.can_validate = true;
  row.can_limit_time = true;
  row.chooses_by_measure = true;
  return row;
}

}  // namespace metafuse::fusion
