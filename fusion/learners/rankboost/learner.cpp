#include "fusion/learners/rankboost/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/number.h"
#include "core/portable_math.h"
#include "fusion/data/communicator.h"
#include "fusion/learners/common/early_stop.h"
#include "fusion/learners/rankboost/checkpoint.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "fusion/learners/rankboost/trainer.h"
#include "fusion/learners/rankboost/value_ranker.h"
#include "fusion/model/weak_ranking.h"

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

/// Bytes per document: 9 for its row, 4 for the end of its id, 3 for feedback, 32 for the distribution, at
/// most 32 for the scores and rows that the loss needs.
constexpr std::size_t kBytesPerDocument = 80;

/// One training run, from its rounds to the model, the trace and the summary.
class Run {
 public:
  Run(const TrainingRequest& request, const Options& options, const Feedback& feedback,
      CodedFeatures features)
      : request_(request),
        options_(options),
        feedback_(feedback),
        features_(std::move(features)),
        trainer_(feedback, features_, options, request.threads, request.communicator),
        best_(request.patience) {
    if (request.measure) validation_.emplace(request.validate->matrix);
  }

  Result<TrainingResult> train() {
    if (!request_.resume_checkpoint.empty()) TRY_VOID(resume());
    const TimePoint begin = request_.clock != nullptr ? request_.clock->now() : TimePoint();
    while (rounds_.size() < options_.rounds && stop_reason_.empty()) {
      const auto round = trainer_.step();
      if (!round) break;
      take(*round);
      TRY_VOID(save_if_due());
      if (is_over_time(begin)) stop_reason_ = "the time limit was reached";
    }
    if (stop_reason_.empty())
      stop_reason_ = trainer_.stop_reason().empty() ? "all rounds done" : trainer_.stop_reason();
    if (is_flat_) keep(std::max<std::size_t>(1, rounds_.size() - options_.flat_rounds));
    keep_best_prefix();
    return result();
  }

 private:
  /// Decided by all MPI processes together, because their clocks differ.
  bool is_over_time(TimePoint begin) const {
    if (request_.clock == nullptr || request_.time_limit_seconds <= 0.0) return false;
    const double spent = std::chrono::duration<double>(request_.clock->now() - begin).count();
    return sum_over_processes(request_.communicator, std::int64_t{spent >= request_.time_limit_seconds}) > 0;
  }

  void take(const Round& round) {
    rounds_.push_back(round);
    const bool is_traced = request_.wants_trace && rounds_.size() % request_.trace_every == 0;
    if (request_.wants_trace || options_.flat_rounds > 0) add_to_loss(round);
    if (is_traced || options_.flat_rounds > 0) losses_.push_back(loss_->value(request_.communicator));
    if (is_traced) trace_.push_back(trace_line(round));
    if (request_.measure) validate(round);
    if (options_.flat_rounds > 0) watch_loss();
    if (request_.progress) request_.progress(rounds_.size(), options_.rounds);
  }

  void validate(const Round& round) {
    const double value = request_.measure(options_.is_value ? ranker()->score(request_.validate->matrix)
                                                            : validation_->add(weak_ranking(round)));
    if (!best_.add(value))
      stop_reason_ =
          fmt::format("{} did not improve for {} rounds", request_.measure_name, request_.patience);
  }

  void add_to_loss(const Round& round) {
    if (!loss_ || rounds_.size() % kRoundsOfSums == 0)
      loss_.emplace(feedback_, trainer_.scores());
    else
      loss_->add(trainer_.ranking_of(round.candidate), round.alpha);
  }

  /// Freund et al. 2003, sec. 6.1.2, take the number of rounds after which the training error "did not
  /// decrease significantly".
  void watch_loss() {
    if (losses_.size() <= options_.flat_rounds) return;
    const double before = losses_[losses_.size() - 1 - options_.flat_rounds];
    is_flat_ = before - losses_.back() <= kFlatShare * before;
    if (is_flat_)
      stop_reason_ = fmt::format("{} rounds did not lower the training loss", options_.flat_rounds);
  }

  void keep(std::size_t rounds) {
    rounds_.resize(std::min(rounds_.size(), rounds));
    trace_.resize(std::min(trace_.size(), rounds / request_.trace_every));
  }

  void keep_best_prefix() {
    if (!request_.measure) return;
    if (rounds_.empty())
      best_.add(request_.measure(std::vector<double>(request_.validate->matrix.document_count(), 0.0)));
    keep(best_.rounds());
  }

  Checkpoint checkpoint() const {
    Checkpoint checkpoint;
    checkpoint.options = options_json(options_, '_');
    checkpoint.options.erase("rounds");
    if (options_.thresholds.given != nullptr) checkpoint.options["thresholds"] = given_json();
    if (request_.measure) checkpoint.options["metric"] = request_.measure_name;
    checkpoint.data = fingerprint(*request_.train, request_.communicator);
    if (request_.measure)
      for (auto& [part, digest] : fingerprint(*request_.validate))
        checkpoint.data.emplace_back("validation " + part, digest);
    return checkpoint;
  }

  JsonObject given_json() const {
    JsonObject out;
    for (const auto& [feature, thetas] : *options_.thresholds.given)
      out[feature] = JsonArray(thetas.begin(), thetas.end());
    return out;
  }

  Result<void> save_if_due() {
    if (request_.checkpoint.empty() || request_.checkpoint_every == 0 ||
        rounds_.size() % request_.checkpoint_every != 0)
      return {};
    if (!saved_) saved_ = checkpoint();
    for (std::size_t i = saved_->rounds.size(); i < rounds_.size(); ++i)
      saved_->rounds.emplace_back(rounds_[i].candidate, rounds_[i].alpha);
    if (request_.communicator != nullptr && request_.communicator->rank() > 0) return {};
    return write_file(request_.checkpoint, checkpoint_text(*saved_));
  }

  Result<void> resume() {
    TRY(const auto found, read_checkpoint(request_.resume_checkpoint));
    if (auto same = check_same_run(request_.resume_checkpoint, found, checkpoint()); !same) return same;
    for (const auto& [candidate, alpha] : found.rounds) {
      if (rounds_.size() >= options_.rounds || !stop_reason_.empty()) break;
      if (candidate.feature >= features_.feature_count() ||
          candidate.threshold > features_.thresholds(candidate.feature).size())
        return fail(Code::bad_data, request_.resume_checkpoint + ": round " +
                                        std::to_string(rounds_.size() + 1) +
                                        " uses a weak ranking that the input does not have; start the "
                                        "training again without --resume");
      take(trainer_.replay(candidate, alpha));
    }
    return {};
  }

  WeakRanking weak_ranking(const Round& round) const {
    return {round.candidate.feature, threshold_of(round.candidate),
            static_cast<double>(round.candidate.q_default), round.alpha};
  }

  bool is_rank(std::size_t feature) const {
    return request_.train->matrix.features()[feature].kind == FeatureKind::rank;
  }

  double threshold_of(const Candidate& candidate) const {
    const Thresholds& thresholds = features_.thresholds(candidate.feature);
    const bool is_highest = candidate.threshold == thresholds.size();
    if (candidate.threshold == 0) return -std::numeric_limits<double>::infinity();
    if (!is_rank(candidate.feature))
      return is_highest ? thresholds.highest : thresholds.values[candidate.threshold];
    // The test is rank <= k, where k is the deepest training rank that fires, or 0 if none does.
    return is_highest ? -1.0 : thresholds.fires_from[candidate.threshold] - 1.0;
  }

  JsonObject trace_line(const Round& round) const {
    JsonObject line;
    line["round"] = rounds_.size();
    line["feature"] = round.candidate.feature + request_.first_feature_number;
    const double threshold = threshold_of(round.candidate);
    if (options_.is_value) {
      line["low"] = features_.thresholds(round.candidate.feature).lowest;
      line["high"] = features_.thresholds(round.candidate.feature).highest;
    } else if (is_rank(round.candidate.feature)) {
      line["rank"] = static_cast<std::int64_t>(
          std::isinf(threshold) ? -features_.thresholds(round.candidate.feature).lowest : -threshold - 1.0);
    } else if (std::isinf(threshold)) {
      line["threshold"] = nullptr;
    } else {
      line["threshold"] = threshold;
    }
    line["q_default"] = round.candidate.q_default;
    line["alpha"] = round.alpha;
    line["r"] = round.candidate.r;
    line["z"] = round.z;
    line["bound"] = portable_exp(round.log_bound);
    line["ranking_loss"] = losses_.back();
    return line;
  }

  std::shared_ptr<const Ranker> ranker() const {
    const auto& described = request_.train->matrix.features();
    if (options_.is_value) {
      std::vector<ValueRanking> rankings;
      for (const Round& round : rounds_) {
        const Thresholds& thresholds = features_.thresholds(round.candidate.feature);
        rankings.push_back({round.candidate.feature, thresholds.lowest, thresholds.highest,
                            static_cast<double>(round.candidate.q_default), round.alpha});
      }
      return std::make_shared<ValueRanker>(std::move(rankings), described);
    }
    std::vector<WeakRanking> rankings;
    for (const Round& round : rounds_) rankings.push_back(weak_ranking(round));
    return std::make_shared<StepRanker>(std::move(rankings), described);
  }

  JsonObject training(double loss) const {
    JsonObject training;
    training["options"] = options_json(options_, '_');
    if (options_.thresholds.given != nullptr) training["thresholds"] = given_json();
    training["rounds"] = rounds_.size();
    training["stopped"] = stop_reason_;
    if (request_.measure) training["validation"] = validation_record(request_, best_.value());
    training["queries"] = feedback_.query_count;
    training["queries_left_out"] = feedback_.left_out;
    training["documents"] = feedback_.used_documents;
    training["crucial_pairs"] = feedback_.crucial_pairs;
    if (!feedback_.pairs.empty()) training["contradictory_pairs"] = feedback_.contradictory_pairs;
    training["ranking_loss"] = loss;
    training["bound"] = rounds_.empty() ? 1.0 : portable_exp(rounds_.back().log_bound);
    if (feedback_.is_single_bipartite)
      training["single_bipartite"] = JsonObject{{"below", feedback_.below}, {"above", feedback_.above}};
    JsonArray reduced;
    for (std::size_t i = 0; i < features_.feature_count(); ++i)
      if (features_.thresholds(i).is_reduced) reduced.emplace_back(request_.train->matrix.features()[i].name);
    if (!reduced.empty()) training["reduced_features"] = std::move(reduced);
    return training;
  }

  /// One line that names every feature with more values than thresholds; empty when there is none.
  std::string reduced_features_text() const {
    std::string names;
    for (std::size_t i = 0; i < features_.feature_count(); ++i) {
      const Thresholds& thresholds = features_.thresholds(i);
      if (!thresholds.is_reduced) continue;
      names += (names.empty() ? "" : ", ") + request_.train->matrix.features()[i].name + " (" +
               std::to_string(thresholds.distinct) + ')';
    }
    return names.empty() ? names : "features (values) reduced by --max-thresholds: " + names + '\n';
  }

  std::string summary(double loss) const {
    std::string text = std::to_string(rounds_.size()) + " rounds (" + stop_reason_ + "), " +
                       std::to_string(feedback_.query_count) + " queries, " +
                       std::to_string(feedback_.used_documents) + " documents, " +
                       std::to_string(feedback_.crucial_pairs) + " crucial pairs";
    if (feedback_.left_out > 0)
      text += "; " + std::to_string(feedback_.left_out) + " queries without a crucial pair were left out";
    if (feedback_.contradictory_pairs > 0)
      text += "; " + std::to_string(feedback_.contradictory_pairs) + " pairs contradict other feedback";
    text += "\nranking loss ";
    append_number(text, loss);
    text += ", bounded by ";
    append_number(text, rounds_.empty() ? 1.0 : portable_exp(rounds_.back().log_bound));
    text += " (theorem 1)\n";
    if (request_.measure) {
      text += "validation " + request_.measure_name + " ";
      append_number(text, reported_value(request_, best_.value()));
      text += " after these rounds\n";
    }
    return text + reduced_features_text();
  }

  TrainingResult result() {
    TrainingResult result;
    result.model.learner = "rankboost";
    result.model.features = request_.train->matrix.features();
    result.model.ranker = ranker();
    const double loss =
        ranking_loss(feedback_, result.model.ranker->score(request_.train->matrix), request_.communicator);
    result.model.training = training(loss);
    result.trace = std::move(trace_);
    result.summary = summary(loss);
    return result;
  }

  const TrainingRequest& request_;
  const Options& options_;
  const Feedback& feedback_;
  CodedFeatures features_;
  Trainer trainer_;
  std::optional<ValidationScores> validation_;
  BestRound best_;
  std::optional<GrowingLoss> loss_;     // only with a trace or --stop-when-flat
  std::vector<double> losses_ = {0.5};  // after each number of rounds that is traced or watched
  bool is_flat_ = false;
  std::optional<Checkpoint> saved_;
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
  TRY(auto features,
      CodedFeatures::make(request.train->matrix, thresholds, feedback.is_used, request.communicator));
  return Run(request, options, feedback, std::move(features)).train();
}

Result<std::shared_ptr<const Ranker>> read(const JsonObject& body, const std::vector<Feature>& features) {
  return body.contains("value_rankings") ? read_value_ranker(body, features)
                                         : read_step_ranker(body, features);
}

}  // namespace

Learner learner() {
  return {.name = "rankboost",
          .meaning = "a sum of thresholded ranking features, chosen round by round on the crucial pairs",
          .source = "Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4",
          .options = option_rows<Options>(),
          .train = train,
          .read = read,
          .can_validate = true,
          .can_stop_early = true,
          .can_distribute = true,
          .can_checkpoint = true,
          .can_limit_time = true,
          .bytes_per_document = kBytesPerDocument};
}

}  // namespace metafuse::fusion::rankboost
