#include <algorithm>

#include <fmt/format.h>

#include "fusion/data/thresholds.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/common/rounds.h"
#include "lab/learners/common/training.h"
#include "lab/learners/rankboost_plus/boost.h"

namespace metafuse::lab::rankboost_plus {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

struct Options {
  enum class Pruning { automatic, yes, no };

  bool is_pruning(std::size_t stumps) const {
    return pruning == Pruning::yes || (pruning == Pruning::automatic && stumps <= kMostToPrune);
  }

  BoostOptions boost;
  Pruning pruning = Pruning::automatic;
  std::size_t max_thresholds = 255;
  std::size_t memory_mb = 1024;
};

void declare_options(OptionTable& table, Options& options) {
  table.choice(
      "form", options.boost.form,
      {{"plus", Form::plus_efficient},
       {"plus-optimal", Form::plus_optimal},
       {"rb-d", Form::discrete},
       {"rb-c", Form::continuous},
       {"pair-free", Form::pair_free}},
      "Algorithm 2; the form that also descends along dependent weak rankings; alpha by eq. (14); by "
      "eq. (19)");
  table.count("rounds", options.boost.rounds, 1, 1'000'000, "rounds of boosting");
  table.count("max-thresholds", options.max_thresholds, 1, 60'000,
              "thresholds per feature; more are sub-sampled at random by --seed");
  table.choice("undefined-alpha", options.boost.is_halting, {{"halt", true}, {"finite", false}},
               "what Rb-d does when its weak ranking reverses no pair");
  using enum Options::Pruning;
  table.choice("prune", options.pruning, {{"auto", automatic}, {"yes", yes}, {"no", no}},
               "reduce the candidates of `plus` to an independent set, as Algorithm 2 does; auto: if there "
               "are at most 2,000");
  table.choice("losses", options.boost.has_all_losses, {{"all", true}, {"own", false}},
               "also measure E2 of Rb-d and Rb-c, which needs a second set of pair weights");
  table.count(
      "memory", options.memory_mb, 16, 1 << 20,
      "memory limit: the thresholds per feature are capped to fit it; if that fails, training is refused",
      "MB");
}

bool has_independent_set(const BoostOptions& options) {
  if (options.form == Form::pair_free) return false;
  return options.has_all_losses || options.form == Form::plus_efficient || options.form == Form::plus_optimal;
}

/// Memory in bytes for the weights of the pairs and their rows, and for the Gram matrix and Cholesky factor
/// of `stumps` candidates.
double bytes_needed(const BoostOptions& options, bool is_pruning, const PairCounts& counts,
                    std::size_t stumps) {
  if (options.form == Form::pair_free) return 0.0;
  const bool has_shadow = options.form == Form::discrete || options.form == Form::continuous;
  const double copies = has_shadow && options.has_all_losses ? 2.0 : 1.0;
  double bytes = copies * 8.0 * static_cast<double>(counts.pairs);
  if (options.form == Form::plus_optimal) bytes *= 2.0;  // a trial copy for the line search
  bytes += static_cast<double>(counts.row_bytes());
  if (!has_independent_set(options)) return bytes;
  const bool is_whole = options.form == Form::plus_efficient && is_pruning;
  const std::size_t members = is_whole ? stumps : std::min(stumps, options.rounds);
  return bytes + 8.0 * 1.5 * static_cast<double>(stumps) * static_cast<double>(members);
}

/// The largest number of thresholds per feature that fits in the allowed memory; 0 if not even one does.
std::size_t affordable_thresholds(const Options& options, const CodedFeatures& features,
                                  const PairCounts& counts) {
  const double allowed = static_cast<double>(options.memory_mb * kMegabyte);
  std::size_t most = options.max_thresholds;
  while (most > 0) {
    std::size_t stumps = 0;
    std::size_t largest = 0;
    for (std::size_t f = 0; f < features.feature_count(); ++f) {
      stumps += std::min(most, features.thresholds(f).size());
      largest = std::max(largest, features.thresholds(f).size());
    }
    if (bytes_needed(options.boost, options.is_pruning(stumps), counts, stumps) <= allowed) return most;
    if (largest == 0) return 0;  // the pairs alone are too many
    most = std::min(most, largest) - 1;
  }
  return 0;
}

void put_losses(const BoostRound& round, JsonObject& object) {
  if (round.losses.r1 >= 0.0) object["r1"] = round.losses.r1;
  object["r2"] = round.losses.r2;
  object["e1"] = round.losses.e1;
  if (round.e2 >= 0.0) object["e2"] = round.e2;
}

void add_to_trace_line(const BoostRound& round, JsonObject& line) {
  line["r"] = round.edges.right - round.edges.reversed;
  line["delta"] = round.delta;
  line["z"] = round.z;
  line["bound"] = round.bound;
  line["ranking_loss"] = round.losses.r2;
  put_losses(round, line);
}

/// What a run works on.
struct Candidates {
  PairRows pairs;                ///< of the forms that need them
  rankboost::Feedback feedback;  ///< of the form without pairs
  CodedFeatures coded;
  StumpTable stumps;
  std::size_t thresholds = 0;  ///< kept per feature, at most
  std::size_t pair_count = 0;
};

Error too_little_memory(const Options& options) {
  return fail(
      Code::bad_data,
      fmt::format("training needs more than the {} MB allowed; raise --memory or train on fewer queries",
                  options.memory_mb));
}

/// RankBoost's feedback, if its tables fit: they hold a few numbers for any two grades of a query.
Result<rankboost::Feedback> feedback_of(const TrainingSet& set, const Options& options) {
  constexpr std::size_t kCellBytes = 24;
  std::size_t cells = 0;
  for (const QueryRange& query : set.queries) {
    const std::size_t grades = grades_of(set, query).size();
    cells += grades * grades;
  }
  if (cells * kCellBytes > options.memory_mb * kMegabyte) return too_little_memory(options);
  return rankboost::make_feedback(set);
}

Result<Candidates> make_candidates(const TrainingSet& set, const Options& options) {
  PairRows pairs;
  rankboost::Feedback feedback;
  PairCounts counts;
  if (options.boost.form == Form::pair_free) {
    TRY(feedback, feedback_of(set, options));
    counts.pairs = static_cast<std::size_t>(feedback.crucial_pairs);
  } else {
    TRY(pairs, pair_rows(set, options.memory_mb * kMegabyte));
    counts = {pairs.pair_count, pairs.rows.size()};
  }
  CodedFeatures coded(set.matrix, ThresholdOptions{ThresholdOptions::kAll});
  const std::size_t thresholds = affordable_thresholds(options, coded, counts);
  if (thresholds == 0) return too_little_memory(options);
  StumpTable stumps(coded, thresholds, Random(options.boost.seed).split(1));
  return Candidates{std::move(pairs),  std::move(feedback), std::move(coded),
                    std::move(stumps), thresholds,          counts.pairs};
}

std::string summarise(const Options& options, const BoostRun& run, const Candidates& candidates,
                      const std::vector<Feature>& features) {
  std::string text = fmt::format("{}: {} rounds over {} crucial pairs and {} weak rankings; {}\n",
                                 form_name(options.boost.form), run.rounds.size(), candidates.pair_count,
                                 candidates.stumps.stumps().size(), run.stop_reason);
  if (!run.rounds.empty()) {
    const BoostRound& last = run.rounds.back();
    if (last.losses.r1 >= 0.0) text += fmt::format("R1 {:g}, ", last.losses.r1);
    text += fmt::format("R2 {:g}, E1 {:g}", last.losses.r2, last.losses.e1);
    if (last.e2 >= 0.0)
      text += fmt::format(", E2 {:g} over {} independent weak rankings", last.e2, run.independent);
    text += fmt::format("; bound {:g}\n", last.bound);
  }
  if (candidates.thresholds < options.max_thresholds)
    text += fmt::format("at most {} thresholds per feature, so that training stays within {} MB (--memory)\n",
                        candidates.thresholds, options.memory_mb);
  if (!candidates.stumps.reduced_features().empty()) {
    text += fmt::format("a random subset of {} thresholds in", candidates.thresholds);
    for (const std::uint32_t f : candidates.stumps.reduced_features()) text += ' ' + features[f].name;
    text += '\n';
  }
  return text;
}

JsonObject training_record(const Options& options, const BoostRun& run, const Candidates& candidates) {
  JsonObject record;
  record["form"] = std::string(form_name(options.boost.form));
  record["rounds"] = run.rounds.size();
  record["max_thresholds"] = candidates.thresholds;
  record["seed"] = options.boost.seed;
  record["crucial_pairs"] = candidates.pair_count;
  record["stopped"] = run.stop_reason;
  if (!run.rounds.empty()) put_losses(run.rounds.back(), record);
  return record;
}

BoostRun run_form(const Candidates& candidates, const BoostOptions& options, const RoundWatch& watch) {
  if (options.form != Form::pair_free)
    return boost_stumps(candidates.stumps, candidates.pairs, options, watch);
  return boost_pair_free(candidates.stumps, candidates.coded, candidates.feedback, options, watch);
}

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(auto options, read_options<Options>(request.options));
  const Form form = options.boost.form;
  TRY_VOID(refuse_unread(request.options, {{"undefined-alpha", form == Form::discrete, "--form rb-d"},
                                           {"prune", form == Form::plus_efficient, "--form plus"},
                                           {"losses", form == Form::discrete || form == Form::continuous,
                                            "--form rb-d or --form rb-c"}}));
  options.boost.seed = request.seed;
  options.boost.threads = request.threads;
  const TrainingSet& set = *request.train;
  TRY(const auto candidates, make_candidates(set, options));
  options.boost.is_pruning = options.is_pruning(candidates.stumps.stumps().size());
  const std::vector<Feature>& features = set.matrix.features();
  const auto weak_ranking = [&](const BoostRound& round) -> WeakRanking {
    const Stump& stump = candidates.stumps.stumps()[round.stump];
    const double threshold =
        step_threshold(candidates.coded.thresholds(stump.feature), stump.place, features[stump.feature].kind);
    return {stump.feature, threshold, 0.0, round.alpha};
  };
  EarlyStop early_stop(request);
  std::size_t done = 0;
  BoostRun run = run_form(candidates, options.boost, [&](const BoostRound& round) {
    if (request.progress) request.progress(++done, options.boost.rounds);
    return early_stop.add(weak_ranking(round));
  });
  if (request.progress) request.progress(options.boost.rounds, options.boost.rounds);
  const bool is_cut = early_stop.is_on() && !run.rounds.empty();
  if (is_cut) run.rounds.resize(early_stop.best_rounds());
  std::vector<WeakRanking> rankings;
  for (const BoostRound& round : run.rounds) rankings.push_back(weak_ranking(round));
  JsonObject record = training_record(options, run, candidates);
  std::string summary = summarise(options, run, candidates, features);
  if (is_cut) {
    record["validation"] = early_stop.record();
    summary += fmt::format("validation {} {:f} after {} rounds, which are kept\n", request.measure.name,
                           early_stop.value(), early_stop.best_rounds());
  }
  return step_result("rankboost-plus", request, std::move(rankings), std::move(record), std::move(summary),
                     [&](std::size_t t, JsonObject& line) { add_to_trace_line(run.rounds[t], line); });
}

}  // namespace

Learner learner() {
  return {.name = "rankboost-plus",
          .meaning = "RankBoost+ and the RankBoost forms Rb-d and Rb-c that it improves on",
          .source = "Connamacher, Pancha, Liu, Ray 2020",
          .options = option_rows<Options>(),
          .train = train,
          .can = {.validate = true, .stop_early = true}};
}

}  // namespace metafuse::lab::rankboost_plus
