#include "fusion/learners/rankboost/learner.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/number.h"
#include "core/portable_math.h"
#include "fusion/data/communicator.h"
#include "fusion/learners/common/rounds.h"
#include "fusion/learners/rankboost/checkpoint.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/learners/rankboost/trainer.h"
#include "fusion/model/sum_ranker.h"

// RankBoost as a learner: reads the options, runs the rounds with early stopping, time limit and checkpoints,
// and puts together the model, the trace and the summary.
namespace metafuse::fusion::rankboost {

void declare_options(OptionTable& table, Options& options) {
  using enum Options::Criterion;
  using enum Options::QDefault;
  table.count("rounds", options.rounds, 0, 10'000'000, "rounds of boosting");
  table.choice(
      "weak-learner", options.weak_learner,
      {{"2", {z, false}}, {"3", {r, false}}, {"2.cum", {z, true}}, {"3.cum", {r, true}}},
      "2 chooses the weak ranking with the least Z, 3 with the largest |r|; .cum keeps cumulative weights "
      "positive");
  table.choice("weak-ranking", options.is_value, {{"threshold", false}, {"value", true}},
               "a weak ranking is a thresholded feature, or the feature scaled to [0, 1]");
  table.choice("alpha", options.is_numeric, {{"auto", false}, {"numeric", true}},
               "computed by the weak learner's formula, or found by minimising Z numerically");
  table.choice("q-default", options.q_default, {{"0", zero}, {"1", one}, {"learn", learn}},
               "value of a weak ranking for unranked documents");
  table.count_or_all("max-thresholds", options.thresholds.max_thresholds, 1, 1'000'000'000,
                     "candidate thresholds per feature, including minus infinity");
  table.custom(
      {"thresholds", "FILE", "",
       "candidate thresholds instead of the values seen: per line a feature's name and its thresholds (for "
       "a list, the ranks k of rank <= k)"},
      [&options](const std::string& path) -> Result<void> {
        TRY(auto given, read_given_thresholds(path));
        options.thresholds.given = std::make_shared<const GivenThresholds>(std::move(given));
        options.thresholds_file = path;
        return {};
      });
  table.count("stop-when-flat", options.flat_rounds, 0, 1'000'000,
              "stops when N rounds lowered the training ranking loss by a hundredth or less, and drops "
              "those rounds; 0 for never");
  table.hide_default();
}

Result<void> check_options(const Options& options) {
  if (options.is_value && options.thresholds.given != nullptr)
    return fail(Code::usage, "--weak-ranking value has no thresholds; leave out --thresholds");
  if (options.is_value && options.weak_learner.criterion == Options::Criterion::z)
    return fail(Code::usage,
                "--weak-ranking value needs --weak-learner 3 or 3.cum: weak learner 2 is for {0,1}-valued "
                "weak rankings");
  return {};
}

namespace {

/// GrowingLoss is rebuilt after this many rounds, before rounding errors could separate documents that tie.
constexpr std::size_t kRoundsOfSums = 256;
// With --stop-when-flat, training ends unless the loss falls by more than this share.
constexpr double kFlatShare = 0.01;
// No alpha is chosen that makes Z larger than 1, up to rounding.
constexpr double kMostZ = 1.0 + 1e-6;

/// Bytes per document: 9 for its row, 4 for the end of its id, 3 for feedback, 32 for the distribution, at
/// most 32 for the scores and rows that the loss needs.
constexpr std::size_t kBytesPerDocument = 80;

/// One training run, from its rounds to the model, the trace and the summary.
class Run {
 public:
  Run(const TrainingRequest& request, const Problem& problem)
      : request_(request),
        problem_(problem),
        trainer_(problem),
        early_stop_(request),
        checkpoints_(request, problem.options) {}

  Result<TrainingResult> train() {
    TRY_VOID(resume());
    const Timer timer(request_.limit);
    while (rounds_.size() < problem_.options.rounds && stop_reason_.empty()) {
      const auto round = trainer_.step();
      if (!round) break;
      take(*round);
      TRY_VOID(checkpoints_.save_if_due(rounds_));
      if (is_over_time(timer)) stop_reason_ = "the time limit was reached";
    }
    if (stop_reason_.empty())
      stop_reason_ = trainer_.stop_reason().empty() ? "all rounds done" : trainer_.stop_reason();
    if (is_flat()) keep(std::max<std::size_t>(1, rounds_.size() - problem_.options.flat_rounds));
    keep_best_prefix();
    return result();
  }

 private:
  /// Decided by all MPI processes together, because their clocks differ.
  bool is_over_time(const Timer& timer) const {
    if (request_.limit.clock == nullptr || request_.limit.seconds <= 0.0) return false;
    return sum_over_processes(request_.communicator, std::int64_t{timer.is_over()}) > 0;
  }

  void take(const Round& round) {
    rounds_.push_back(round);
    const bool is_traced = request_.trace.is_wanted && rounds_.size() % request_.trace.every == 0;
    if (request_.trace.is_wanted || problem_.options.flat_rounds > 0) add_to_loss(round);
    if (is_traced || problem_.options.flat_rounds > 0) losses_.push_back(loss_->value(request_.communicator));
    if (is_traced) trace_.push_back(trace_line(round));
    const bool goes_on = problem_.options.is_value && early_stop_.is_on()
                             ? early_stop_.add(ranker()->score(request_.validate->matrix))
                             : early_stop_.add(weak_ranking(round));
    if (!goes_on)
      stop_reason_ =
          fmt::format("{} did not improve for {} rounds", request_.measure.name, request_.patience);
    if (is_flat())
      stop_reason_ = fmt::format("{} rounds did not lower the training loss", problem_.options.flat_rounds);
    if (request_.progress) request_.progress(rounds_.size(), problem_.options.rounds);
  }

  void add_to_loss(const Round& round) {
    if (!loss_ || rounds_.size() % kRoundsOfSums == 0)
      loss_.emplace(problem_.feedback, trainer_.scores());
    else
      loss_->add(problem_.ranking_of(round.candidate), round.alpha);
  }

  /// Freund et al. 2003, sec. 6.1.2, take the number of rounds after which the training error "did not
  /// decrease significantly".
  bool is_flat() const {
    if (problem_.options.flat_rounds == 0 || losses_.size() <= problem_.options.flat_rounds) return false;
    const double before = losses_[losses_.size() - 1 - problem_.options.flat_rounds];
    return before - losses_.back() <= kFlatShare * before;
  }

  void keep(std::size_t rounds) {
    rounds_.resize(std::min(rounds_.size(), rounds));
    trace_.resize(std::min(trace_.size(), rounds / request_.trace.every));
  }

  void keep_best_prefix() {
    if (!early_stop_.is_on()) return;
    if (rounds_.empty())
      early_stop_.add(std::vector<double>(request_.validate->matrix.document_count(), 0.0));
    keep(early_stop_.best_rounds());
  }

  Result<void> resume() {
    TRY(const auto rounds, checkpoints_.resumed_rounds());
    for (const auto& [candidate, alpha, z, log_bound] : rounds) {
      if (rounds_.size() >= problem_.options.rounds || !stop_reason_.empty()) break;
      if (candidate.feature >= problem_.features.feature_count() ||
          candidate.threshold > problem_.features.thresholds(candidate.feature).size())
        return fail(Code::bad_data, request_.checkpoints.resume + ": round " +
                                        std::to_string(rounds_.size() + 1) +
                                        " uses a weak ranking that the input does not have; start the "
                                        "training again without --resume");
      const Round round = trainer_.add(candidate, alpha);
      if (!(round.z > 0.0 && round.z <= kMostZ))
        return fail(Code::bad_data, request_.checkpoints.resume + ": round " +
                                        std::to_string(rounds_.size() + 1) +
                                        " is damaged: training chooses no such alpha; start the training "
                                        "again without --resume");
      take(round);
    }
    return {};
  }

  WeakRanking weak_ranking(const Round& round) const {
    return weak_ranking_of(round, problem_.features,
                           request_.train->matrix.features()[round.candidate.feature].kind);
  }

  JsonObject trace_line(const Round& round) const {
    const Thresholds& thresholds = problem_.features.thresholds(round.candidate.feature);
    JsonObject line =
        problem_.options.is_value
            ? JsonObject{{"round", rounds_.size()},
                         {"feature", round.candidate.feature + request_.trace.first_feature_number},
                         {"low", thresholds.lowest},
                         {"high", thresholds.highest},
                         {"q_default", round.candidate.q_default},
                         {"alpha", round.alpha}}
            : step_trace_line(request_, rounds_.size(), weak_ranking(round), -thresholds.lowest);
    line["r"] = round.candidate.r;
    line["z"] = round.z;
    line["bound"] = portable_exp(round.log_bound);
    line["ranking_loss"] = losses_.back();
    return line;
  }

  std::shared_ptr<const Ranker> ranker() const {
    const auto& described = request_.train->matrix.features();
    if (problem_.options.is_value) {
      std::vector<ValueRanking> rankings;
      for (const Round& round : rounds_) {
        const Thresholds& thresholds = problem_.features.thresholds(round.candidate.feature);
        rankings.push_back({round.candidate.feature, thresholds.lowest, thresholds.highest,
                            static_cast<double>(round.candidate.q_default), round.alpha});
      }
      return std::make_shared<SumRanker>(SumParts{{}, {}, std::move(rankings)}, described);
    }
    std::vector<WeakRanking> rankings;
    for (const Round& round : rounds_) rankings.push_back(weak_ranking(round));
    return std::make_shared<SumRanker>(std::move(rankings), described);
  }

  JsonObject training(double loss) const {
    JsonObject training;
    training["options"] = options_json(problem_.options);
    if (problem_.options.thresholds.given != nullptr)
      training["thresholds"] = given_thresholds_json(problem_.options);
    training["rounds"] = rounds_.size();
    training["stopped"] = stop_reason_;
    if (early_stop_.is_on()) training["validation"] = early_stop_.record();
    training["queries"] = problem_.feedback.query_count;
    training["queries_left_out"] = problem_.feedback.left_out;
    training["documents"] = problem_.feedback.used_documents;
    training["crucial_pairs"] = problem_.feedback.crucial_pairs;
    if (!problem_.feedback.pairs.empty())
      training["contradictory_pairs"] = problem_.feedback.contradictory_pairs;
    training["ranking_loss"] = loss;
    training["bound"] = rounds_.empty() ? 1.0 : portable_exp(rounds_.back().log_bound);
    if (const auto& single = problem_.feedback.single_bipartite)
      training["single_bipartite"] = JsonObject{{"below", single->below}, {"above", single->above}};
    JsonArray reduced;
    for (const std::size_t feature : reduced_features())
      reduced.emplace_back(request_.train->matrix.features()[feature].name);
    if (!reduced.empty()) training["reduced_features"] = std::move(reduced);
    return training;
  }

  /// The features with more values than thresholds.
  std::vector<std::size_t> reduced_features() const {
    std::vector<std::size_t> reduced;
    for (std::size_t i = 0; i < problem_.features.feature_count(); ++i)
      if (problem_.features.thresholds(i).is_reduced) reduced.push_back(i);
    return reduced;
  }

  std::string summary(double loss) const {
    std::string text = fmt::format("{} rounds ({}), {} queries, {} documents, {} crucial pairs",
                                   rounds_.size(), stop_reason_, problem_.feedback.query_count,
                                   problem_.feedback.used_documents, problem_.feedback.crucial_pairs);
    if (problem_.feedback.left_out > 0)
      text += fmt::format("; {} queries without a crucial pair were left out", problem_.feedback.left_out);
    if (problem_.feedback.contradictory_pairs > 0)
      text += fmt::format("; {} pairs contradict other feedback", problem_.feedback.contradictory_pairs);
    text += fmt::format("\nranking loss {}, bounded by {} (theorem 1)\n", number_text(loss),
                        number_text(rounds_.empty() ? 1.0 : portable_exp(rounds_.back().log_bound)));
    if (early_stop_.is_on())
      text += fmt::format("validation {} {} after these rounds\n", request_.measure.name,
                          number_text(early_stop_.value()));
    std::string names;
    for (const std::size_t feature : reduced_features())
      names +=
          fmt::format("{}{} ({})", names.empty() ? "" : ", ", request_.train->matrix.features()[feature].name,
                      problem_.features.thresholds(feature).distinct);
    if (!names.empty()) text += "features (values) reduced by --max-thresholds: " + names + '\n';
    return text;
  }

  TrainingResult result() {
    auto model = ranker();
    const double loss =
        ranking_loss(problem_.feedback, model->score(request_.train->matrix), request_.communicator);
    return {{"rankboost", request_.train->matrix.features(), std::move(model), training(loss)},
            std::move(trace_),
            summary(loss)};
  }

  const TrainingRequest& request_;
  Problem problem_;
  Trainer trainer_;
  EarlyStop early_stop_;
  Checkpoints checkpoints_;
  std::optional<GrowingLoss> loss_;     // only with a trace or --stop-when-flat
  std::vector<double> losses_ = {0.5};  // after each number of rounds that is traced or watched
  std::vector<Round> rounds_;
  std::vector<JsonObject> trace_;
  std::string stop_reason_;
};

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(const auto options, read_options<Options>(request.options));
  TRY_VOID(check_options(options));
  if (options.thresholds.given != nullptr)
    TRY_VOID(check_given_thresholds(*options.thresholds.given, request.train->matrix.features(),
                                    options.thresholds_file));
  TRY(const auto feedback, make_feedback(*request.train, request.communicator));
  // A value ranking uses every value; thresholds only serve to code them.
  const ThresholdOptions thresholds =
      options.is_value ? ThresholdOptions{ThresholdOptions::kAll} : options.thresholds;
  TRY(const auto features,
      CodedFeatures::make(request.train->matrix, thresholds, feedback.is_used, request.communicator));
  return Run(request, {feedback, features, options, request.threads, request.communicator}).train();
}

}  // namespace

Learner learner() {
  return {.name = "rankboost",
          .meaning = "a sum of thresholded ranking features, chosen round by round on the crucial pairs",
          .source = "Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4",
          .options = option_rows<Options>(),
          .train = train,
          .can = {.validate = true,
                  .stop_early = true,
                  .distribute = true,
                  .checkpoint = true,
                  .limit_time = true},
          .bytes_per_document = kBytesPerDocument};
}

}  // namespace metafuse::fusion::rankboost
