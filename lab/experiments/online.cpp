// Tables 1 and 2 and figures 2 and 3 of Harrington 2003: online rankers, their test losses with 95 %
// intervals, and running losses. All methods of a task learn from the same drawn streams and are tested on
// the same examples. PRank and OAP with ROMMA's steps, which sec. 5 proposes, are added to
// the paper's methods.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/contract.h"
#include "fusion/model/online/online_model.h"
#include "lab/experiments/online_tasks.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace online {
namespace {

using namespace fusion;
using namespace fusion::online;

constexpr const char* kRomma = ", ROMMA";  // the suffix of such rows' names

/// The losses of one method at one setting in one trial.
struct Outcome {
  std::string name;           ///< "oap-bpm 0.3"
  double loss = 0.0;          ///< mean |y_hat - y| on the test examples
  double rounded_loss = 0.0;  ///< with predictions rounded to ranks
  std::vector<double> curve;  ///< running mean loss over the stream, at curve_steps()
};

struct Trial {
  std::vector<Outcome> outcomes;
  double floor = 0.0;  ///< loss of the best rule, if it is known
};

/// The numbers of examples at which the running loss is recorded, evenly spaced on a logarithmic scale.
std::vector<std::size_t> curve_steps(std::size_t examples) {
  std::vector<std::size_t> steps;
  for (int i = 0; i <= 60; ++i) {
    const auto step = static_cast<std::size_t>(
        std::llround(std::pow(10.0, 1.0 + (std::log10(static_cast<double>(examples)) - 1.0) * i / 60.0)));
    if (steps.empty() || step > steps.back()) steps.push_back(step);
  }
  return steps;
}

std::string name_of(const OnlineOptions& setting) {
  std::string name(to_name(setting.method));
  if (setting.method == OnlineMethod::widrow_hoff) name += fmt::format(" {}", setting.step);
  if (is_ensemble(setting.method)) name += fmt::format(" {:.1f}", setting.tau);
  return setting.prank_step.rule == StepRule::perceptron ? name : name + kRomma;
}

/// What a task compares. The three OAP methods of a tau combine the same PRanks.
std::vector<OnlineOptions> settings_of(const Task& task, Random& random) {
  OnlineOptions base;
  base.inputs = task.inputs;
  base.ranks = task.ranks;
  base.max_votes = 1'000'000;
  base.kernel.is_polynomial = task.is_polynomial;
  std::vector<OnlineOptions> settings;
  for (const double step : task.steps) {
    settings.push_back(base);
    settings.back().method = OnlineMethod::widrow_hoff;
    settings.back().step = step;
  }
  const auto add = [&](OnlineMethod method, StepRule rule, double tau, std::uint64_t seed) {
    settings.push_back(base);
    settings.back().method = method;
    settings.back().prank_step.rule = rule;
    settings.back().tau = tau;
    settings.back().seed = seed;
  };
  add(OnlineMethod::prank, StepRule::perceptron, base.tau, base.seed);
  add(OnlineMethod::prank_vp, StepRule::perceptron, base.tau, base.seed);
  add(OnlineMethod::prank, StepRule::romma, base.tau, base.seed);
  const auto add_oap = [&](StepRule rule, double tau, std::uint64_t seed) {
    for (const OnlineMethod method : {OnlineMethod::oap_vp, OnlineMethod::oap_bagg, OnlineMethod::oap_bpm})
      add(method, rule, tau, seed);
  };
  for (const double tau : task.taus) add_oap(StepRule::perceptron, tau, random.next());
  const OnlineOptions& first = settings[task.steps.size() + 3];
  add_oap(StepRule::romma, first.tau, first.seed);
  return settings;
}

Result<Outcome> run_setting(const OnlineOptions& setting, const Task& task, const Sample& sample) {
  TRY(auto model, OnlineModel::make(setting));
  TRY(const auto stream, model.learn(sample.train, sample.train_ranks));
  Outcome outcome;
  outcome.name = name_of(setting);
  const std::vector<std::size_t> steps = curve_steps(stream.size());
  double sum = 0.0;
  for (std::size_t t = 0; t < stream.size(); ++t) {
    sum += std::abs(stream[t].rank - sample.train_ranks[t]);
    if (outcome.curve.size() < steps.size() && t + 1 == steps[outcome.curve.size()])
      outcome.curve.push_back(sum / static_cast<double>(t + 1));
  }
  const auto n = static_cast<double>(sample.test_ranks.size());
  for (std::size_t t = 0; t < sample.test_ranks.size(); ++t) {
    const OnlinePrediction said = model.predict({&sample.test[t * task.inputs], task.inputs});
    outcome.loss += std::abs(said.rank - sample.test_ranks[t]) / n;
    outcome.rounded_loss += std::abs(said.rounded - sample.test_ranks[t]) / n;
  }
  return outcome;
}

Result<Trial> run_trial(const Task& task, std::uint64_t seed) {
  Random random(seed);
  const Sample sample = task.draw(random);
  Trial trial;
  for (const OnlineOptions& setting : settings_of(task, random)) {
    TRY(auto outcome, run_setting(setting, task, sample));
    trial.outcomes.push_back(std::move(outcome));
  }
  for (std::size_t t = 0; t < sample.ideal_test_ranks.size(); ++t)
    trial.floor += std::abs(sample.ideal_test_ranks[t] - sample.test_ranks[t]) /
                   static_cast<double>(sample.ideal_test_ranks.size());
  return trial;
}

/// One method at one setting, over all trials.
struct Row {
  std::string name;
  Interval loss;
  Interval rounded_loss;
  std::vector<double> curve;  ///< mean over the trials
  std::string published;      ///< the paper's figure, or "-"
};

struct Summary {
  std::vector<double> steps;  ///< numbers of examples seen, the x values of the curves
  std::vector<Row> rows;
  double noise_floor = -1.0;  ///< loss of the best rule if it is known, else negative

  const Row& row(const std::string& name) const {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.name == name; });
    require(found != rows.end(), "a row of that name");
    return *found;
  }
  /// The row with the least loss among those of one kind of method, with or without ROMMA's steps.
  const Row& best(std::string_view kind, bool is_romma) const {
    const Row* best = nullptr;
    for (const Row& one : rows)
      if (one.name.starts_with(kind) && one.name.ends_with(kRomma) == is_romma &&
          (best == nullptr || one.loss.mean < best->loss.mean))
        best = &one;
    require(best != nullptr, "a row of each kind");
    return *best;
  }
  /// How fast a method learns: its running loss, averaged over the logarithm of the number of examples.
  double mean_running_loss(const std::string& name) const { return mean_of(row(name).curve); }
  /// A method's running loss after the first recorded number of examples that is at least `examples`.
  double running_loss(const std::string& name, double examples) const {
    const auto at = std::lower_bound(steps.begin(), steps.end() - 1, examples) - steps.begin();
    return row(name).curve.at(static_cast<std::size_t>(at));
  }
};

Summary summary_of(const Task& task, const std::vector<Trial>& trials, const Sample& first) {
  Summary summary;
  for (std::size_t m = 0; m < trials[0].outcomes.size(); ++m) {
    std::vector<double> losses, rounded;
    std::vector<std::vector<double>> curves;
    for (const Trial& trial : trials) {
      losses.push_back(trial.outcomes[m].loss);
      rounded.push_back(trial.outcomes[m].rounded_loss);
      curves.push_back(trial.outcomes[m].curve);
    }
    const std::string& name = trials[0].outcomes[m].name;
    const auto published = task.published.find(name);
    summary.rows.push_back({name, interval_of(losses), interval_of(rounded), means_of(curves),
                            published == task.published.end() ? "-" : published->second});
  }
  for (const std::size_t step : curve_steps(first.train_ranks.size()))
    summary.steps.push_back(static_cast<double>(step));
  if (first.ideal_test_ranks.empty()) return summary;
  summary.noise_floor = 0.0;
  for (const Trial& trial : trials) summary.noise_floor += trial.floor / static_cast<double>(trials.size());
  return summary;
}

/// Runs every method of the task on the same trials. The seed determines the table, whatever the number
/// of threads.
Result<Summary> run_task(const Task& task, const ExperimentOptions& options) {
  const Random seeds(options.seed);
  TRY(const auto trials,
      run_all(task.trials, options, [&](std::size_t i) { return run_trial(task, seeds.split(i).next()); }));
  Random first(seeds.split(0).next());
  return summary_of(task, trials, task.draw(first));
}

std::string table_text(const Task& task, const Summary& summary) {
  Table table{{{"method", "loss", "rounded to ranks", "paper"}}};
  for (const Row& row : summary.rows)
    table.add({row.name, to_text(row.loss, 3), to_text(row.rounded_loss, 3), row.published});
  if (summary.noise_floor >= 0.0) table.add({"noise floor", fixed(summary.noise_floor, 3), "", ""});
  return fmt::format(
             "{}: mean |rank predicted - rank| on the test examples, {} trials, 95 % intervals (Student's "
             "t)\n"
             "  {}\n",
             task.name, task.trials, task.note) +
         table.text();
}

const char* drawn_widrow_hoff(const Task& task) {
  return task.is_polynomial ? "widrow-hoff 0.1" : "widrow-hoff 0.01";
}

/// The sentences of sec. 4.1 about the synthetic task.
void add_sentences(const Task& task, const Summary& summary, Report& report) {
  std::size_t lowest = 0;
  std::string intervals;
  bool is_rising = true;
  double before = 0.0;
  std::vector<double> taus = task.taus;
  std::sort(taus.begin(), taus.end());
  for (const double tau : taus) {
    const std::string end = " " + fixed(tau, 1);
    const Row& point = summary.row("oap-bpm" + end);
    lowest += std::all_of(summary.rows.begin(), summary.rows.end(), [&](const Row& row) {
      return row.name.ends_with(kRomma) || row.name.starts_with("oap-bpm") || point.loss.mean < row.loss.mean;
    });
    is_rising = is_rising && point.loss.half_width > before;
    before = point.loss.half_width;
    intervals += fmt::format("{}tau {:.1f}: {:.3f}", intervals.empty() ? "" : ", ", tau, before);
  }
  report.judge_count(task.name + ": OAP-BPM has the lowest loss at every tau (sec. 4.1)", lowest, taus.size(),
                     taus.size());
  report.judge(task.name + ": the smaller tau, the smaller OAP-BPM's interval (sec. 4.1)", is_rising,
               intervals);
  const double gradient = summary.running_loss(drawn_widrow_hoff(task), 5000);
  const double prank = summary.running_loss("prank", 5000);
  report.judge(task.name + ": Widrow-Hoff is ahead of PRank after 5,000 examples (sec. 4.1)",
               gradient < prank, fmt::format("{:.3f} against {:.3f}", gradient, prank));
  const std::string tau = " " + fixed(task.taus[0], 1);
  const double voted = summary.running_loss("oap-vp" + tau, 1000);
  const double others =
      std::min(summary.running_loss("oap-bagg" + tau, 1000), summary.running_loss("oap-bpm" + tau, 1000));
  report.judge(task.name + ": OAP-VP has the lowest running loss until 1,000 examples (sec. 4.1)",
               voted < others, fmt::format("{:.3f} against {:.3f} there", voted, others));
}

void add_claims(const Task& task, const Summary& summary, const Task* first, Report& report) {
  const auto loss_of = [](const Row& row) { return row.name + " " + to_text(row.loss, 3); };
  const Row& point = summary.best("oap-bpm", false);
  const Row* least = nullptr;
  for (const char* kind : {"widrow-hoff", "prank", "oap-vp", "oap-bagg"})
    if (const Row& row = summary.best(kind, false); least == nullptr || row.loss.mean < least->loss.mean)
      least = &row;
  report.judge(task.name + ": OAP-BPM has the lowest test loss of all methods",
               point.loss.mean < least->loss.mean, loss_of(point) + "; next " + loss_of(*least));
  const std::string tau = " " + fixed(task.taus[0], 1);
  const double voted = summary.mean_running_loss("oap-vp" + tau);
  const double others =
      std::min(summary.mean_running_loss("oap-bagg" + tau), summary.mean_running_loss("oap-bpm" + tau));
  const char* const running =
      "{:.3f} against {:.3f}, running loss averaged over the logarithm of the examples";
  report.judge(task.name + ": OAP-VP learns faster than OAP-Bagg and OAP-BPM (fig. 2, 3)", voted < others,
               fmt::format(fmt::runtime(running), voted, others));
  if (task.inputs == 3) {
    const double gradient = summary.mean_running_loss(drawn_widrow_hoff(task));
    const double next = std::min({voted, others, summary.mean_running_loss("prank")});
    report.judge(task.name + ": Widrow-Hoff learns fastest (fig. 3 b)", gradient < next,
                 fmt::format(fmt::runtime(running), gradient, next));
  }
  if (&task == first) add_sentences(task, summary, report);
  const Row& romma = summary.best("oap-bpm", true);
  report.judge(
      task.name + ": ROMMA's steps, proposed in sec. 5, are better for OAP-BPM than the perceptron's",
      romma.loss.mean < point.loss.mean, loss_of(romma) + "; " + loss_of(point));
}

/// Draws one setting of each method, as in figs. 2 and 3.
void plot(const Task& task, const Summary& summary, Report& report) {
  std::vector<evaluation::Curve> curves;
  for (const Row& row : summary.rows) {
    const bool is_first_tau = row.name.ends_with(" " + fixed(task.taus[0], 1)) && row.name.starts_with("oap");
    if (is_first_tau || row.name == drawn_widrow_hoff(task) || row.name == "prank")
      curves.push_back({row.name, summary.steps, row.curve});
  }
  report.plot(curves, task.name, "examples seen", "mean rank loss so far", true);
}

JsonObject json_of(const Task& task, const Summary& summary) {
  JsonArray rows;
  for (const Row& row : summary.rows)
    rows.push_back(JsonObject{{"method", row.name},
                              {"loss", row.loss.mean},
                              {"half_width", row.loss.half_width},
                              {"rounded_loss", row.rounded_loss.mean},
                              {"rounded_half_width", row.rounded_loss.half_width},
                              {"paper", row.published},
                              {"curve", json_array(row.curve)}});
  JsonObject out{{"task", task.name}, {"trials", task.trials}, {"note", task.note}};
  out["steps"] = json_array(summary.steps);
  if (summary.noise_floor >= 0.0) out["noise_floor"] = summary.noise_floor;
  out["rows"] = std::move(rows);
  return out;
}

}  // namespace
}  // namespace online

Result<Report> run_online(const ExperimentOptions& options) {
  using namespace online;
  const std::size_t trials = options.is_quick() ? 20 : 500;
  std::vector<Task> tasks = {synthetic_task(options.is_quick() ? 3 : 20)};
  for (const CysticFibrosisForm form : {CysticFibrosisForm{false, false}, CysticFibrosisForm{false, true},
                                        CysticFibrosisForm{true, false}, CysticFibrosisForm{true, true}}) {
    TRY(auto task, cystic_fibrosis_task(options.data, trials, form));
    tasks.push_back(std::move(task));
  }
  TRY(auto movielens, movielens_task(options.data, trials));
  tasks.push_back(std::move(movielens));
  Report report;
  JsonArray json;
  for (const Task& task : tasks) {
    TRY(const auto summary, run_task(task, options));
    report.text += table_text(task, summary);
    plot(task, summary, report);
    json.push_back(json_of(task, summary));
    add_claims(task, summary, &tasks.front(), report);
  }
  report.json["tasks"] = std::move(json);
  report.leave("OHSUMED's column of table 2", "the file with three judges per pair is no longer available");
  return report;
}

}  // namespace metafuse::lab::experiments
