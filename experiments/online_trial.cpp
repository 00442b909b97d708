#include "experiments/online_trial.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

#include "core/parallel.h"
#include "fusion/learners/online/online_model.h"
#include "fusion/learners/online/rank_rule.h"

namespace metafuse::experiments {
namespace {

using namespace fusion;

struct Outcome {
  std::string name;
  double loss = 0.0;
  double rounded_loss = 0.0;
  std::vector<double> curve;
};

/// Examples after which the running loss is kept: evenly spaced in the logarithm.
std::vector<std::size_t> curve_steps(std::size_t examples) {
  std::vector<std::size_t> steps;
  for (int i = 0; i <= 60; ++i) {
    const auto step = static_cast<std::size_t>(
        std::llround(std::pow(10.0, 1.0 + (std::log10(static_cast<double>(examples)) - 1.0) * i / 60.0)));
    if (steps.empty() || step > steps.back()) steps.push_back(step);
  }
  return steps;
}

/// Gathers one method's losses of one trial.
class Losses {
 public:
  Losses(std::string name, const OnlineTask& task, const OnlineSample& sample)
      : task_(task), sample_(sample), steps_(curve_steps(sample.train_ranks.size())) {
    outcome_.name = std::move(name);
  }

  void train(std::size_t t, double prediction) {
    sum_ += std::abs(prediction - sample_.train_ranks[t]);
    if (outcome_.curve.size() < steps_.size() && t + 1 == steps_[outcome_.curve.size()])
      outcome_.curve.push_back(sum_ / static_cast<double>(t + 1));
  }
  void test(std::size_t t, double prediction) {
    const auto n = static_cast<double>(sample_.test_ranks.size());
    const int rank = sample_.test_ranks[t];
    outcome_.loss += std::abs(prediction - rank) / n;
    outcome_.rounded_loss += std::abs(nearest_rank(prediction, task_.ranks) - rank) / n;
  }
  Outcome outcome() const { return outcome_; }

 private:
  const OnlineTask& task_;
  const OnlineSample& sample_;
  std::vector<std::size_t> steps_;
  Outcome outcome_;
  double sum_ = 0.0;
};

Result<Outcome> run_single(OnlineMethod method, double step, const OnlineTask& task,
                           const OnlineSample& sample) {
  OnlineOptions options;
  options.method = method;
  options.inputs = task.inputs;
  options.ranks = task.ranks;
  options.step = step;
  options.max_votes = 1'000'000;
  options.kernel.is_polynomial = task.is_polynomial;
  TRY(auto model, OnlineModel::make(options));
  TRY(auto stream, model.learn(sample.train, sample.train_ranks));
  std::string name(to_name(method));
  if (method == OnlineMethod::widrow_hoff) {
    std::string digits = fixed(step, 3);
    while (digits.back() == '0') digits.pop_back();
    name += " " + digits;
  }
  Losses losses(name, task, sample);
  for (std::size_t t = 0; t < stream.size(); ++t) losses.train(t, stream[t].rank);
  for (std::size_t t = 0; t < sample.test_ranks.size(); ++t)
    losses.test(t, model.predict({&sample.test[t * task.inputs], task.inputs}).rank);
  return losses.outcome();
}

std::vector<double> mapped_rows(const std::vector<double>& rows, const OnlineTask& task, const ExactMap& map,
                                std::size_t stride) {
  const std::size_t examples = rows.size() / task.inputs;
  std::vector<double> mapped(examples * stride, 0.0);
  for (std::size_t t = 0; t < examples; ++t) {
    const std::span<const double> input(&rows[t * task.inputs], task.inputs);
    if (task.is_polynomial)
      map.apply(input, &mapped[t * stride]);
    else
      std::copy(input.begin(), input.end(), mapped.begin() + static_cast<std::ptrdiff_t>(t * stride));
  }
  return mapped;
}

/// The three OAP methods differ only in how they combine the same N PRanks: one bank serves all.
std::vector<Outcome> run_bank(double tau, const OnlineTask& task, const OnlineSample& sample,
                              std::uint64_t seed) {
  const ExactMap map = task.is_polynomial ? ExactMap(task.inputs, 2) : ExactMap();
  PrankBank bank(task.rankers, task.is_polynomial ? map.size() : task.inputs, task.ranks, tau, seed);
  const auto train = mapped_rows(sample.train, task, map, bank.stride());
  const auto test = mapped_rows(sample.test, task, map, bank.stride());
  std::vector<BankPrediction> stream(sample.train_ranks.size());
  bank.learn({train.data(), sample.train_ranks, 0}, true, 1, stream);
  const std::string setting = " " + fixed(tau, 1);
  Losses vote("oap-vp" + setting, task, sample);
  Losses bagg("oap-bagg" + setting, task, sample);
  Losses point("oap-bpm" + setting, task, sample);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    vote.train(t, stream[t].voted);
    bagg.train(t, stream[t].bagged);
    point.train(t, stream[t].point);
  }
  for (std::size_t t = 0; t < sample.test_ranks.size(); ++t) {
    const BankPrediction prediction = bank.predict(&test[t * bank.stride()], true);
    vote.test(t, prediction.voted);
    bagg.test(t, prediction.bagged);
    point.test(t, prediction.point);
  }
  return {vote.outcome(), bagg.outcome(), point.outcome()};
}

struct Trial {
  std::vector<Outcome> outcomes;
  double floor = 0.0;
};

Result<Trial> run_trial(const OnlineTask& task, std::uint64_t seed) {
  Random random(seed);
  const OnlineSample sample = task.draw(random);
  Trial trial;
  std::vector<std::pair<OnlineMethod, double>> singles;
  for (const double step : task.steps) singles.emplace_back(OnlineMethod::widrow_hoff, step);
  singles.emplace_back(OnlineMethod::prank, 1.0);
  singles.emplace_back(OnlineMethod::prank_vp, 1.0);
  for (const auto& [method, step] : singles) {
    TRY(auto outcome, run_single(method, step, task, sample));
    trial.outcomes.push_back(std::move(outcome));
  }
  for (const double tau : task.taus)
    for (Outcome& outcome : run_bank(tau, task, sample, random.next()))
      trial.outcomes.push_back(std::move(outcome));
  for (std::size_t t = 0; t < sample.ideal_test_ranks.size(); ++t)
    trial.floor += std::abs(sample.ideal_test_ranks[t] - sample.test_ranks[t]) /
                   static_cast<double>(sample.ideal_test_ranks.size());
  return trial;
}

OnlineTable summary(const std::vector<Trial>& trials) {
  OnlineTable table;
  const auto n = static_cast<double>(trials.size());
  for (std::size_t m = 0; m < trials[0].outcomes.size(); ++m) {
    OnlineRow row;
    row.name = trials[0].outcomes[m].name;
    row.curve.assign(trials[0].outcomes[m].curve.size(), 0.0);
    std::vector<double> losses;
    std::vector<double> rounded;
    for (const Trial& trial : trials) {
      losses.push_back(trial.outcomes[m].loss);
      rounded.push_back(trial.outcomes[m].rounded_loss);
      for (std::size_t i = 0; i < row.curve.size(); ++i) row.curve[i] += trial.outcomes[m].curve[i] / n;
    }
    row.loss = interval_of(losses);
    row.rounded_loss = interval_of(rounded);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Result<OnlineTable> run_trials(const OnlineTask& task, const ExperimentOptions& options) {
  const Random seeds(options.seed);
  std::vector<std::optional<Result<Trial>>> slots(task.trials);
  std::size_t done = 0;
  std::mutex mutex;
  parallel_for(task.trials, options.threads, [&](std::size_t i) {
    slots[i].emplace(run_trial(task, seeds.split(i).next()));
    const std::lock_guard lock(mutex);
    ++done;
    if (options.progress) options.progress(done, task.trials);
  });
  std::vector<Trial> trials;
  for (auto& slot : slots) {
    if (!*slot) return slot->error();
    trials.push_back(std::move(**slot));
  }
  OnlineTable table = summary(trials);
  Random first(seeds.split(0).next());
  const OnlineSample sample = task.draw(first);
  for (const std::size_t step : curve_steps(sample.train_ranks.size()))
    table.steps.push_back(static_cast<double>(step));
  if (!sample.ideal_test_ranks.empty()) {
    table.noise_floor = 0.0;
    for (const Trial& trial : trials) table.noise_floor += trial.floor / static_cast<double>(trials.size());
  }
  return table;
}

}  // namespace metafuse::experiments
