#include "fusion/rankboost/learner.h"

#include <cmath>
#include <limits>

#include "core/number.h"
#include "fusion/rankboost/ranking_loss.h"
#include "fusion/rankboost/trainer.h"
#include "fusion/rankboost/value_ranker.h"
#include "fusion/weak_ranking.h"

namespace metafuse::fusion::rankboost {
namespace {

/// One training run: what its rounds become.
class Run {
 public:
  Run(const TrainingRequest& request, const Options& options, const Feedback& feedback)
      : request_(request),
        options_(options),
        feedback_(feedback),
        features_(request.train->matrix, threshold_options(options), feedback.is_used),
        trainer_(feedback, features_, options, request.threads) {}

  TrainingResult train() {
    std::size_t done = 0;
    while (done < options_.rounds) {
      const auto round = trainer_.step();
      if (!round) break;
      rounds_.push_back(*round);
      ++done;
      if (request_.wants_trace) trace_.push_back(trace_line(*round));
      if (request_.progress) request_.progress(done, options_.rounds);
    }
    stop_reason_ = trainer_.stop_reason().empty() ? "all rounds done" : trainer_.stop_reason();
    return result();
  }

 private:
  static ThresholdOptions threshold_options(const Options& options) {
    // A value ranking uses every value; thresholds only serve to code them.
    return options.is_value ? ThresholdOptions{ThresholdOptions::kAll} : options.thresholds;
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
    // rank <= k with k the deepest training rank that fires, 0 when none does
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
    line["bound"] = std::exp(round.log_bound);
    line["ranking_loss"] = ranking_loss(feedback_, trainer_.scores());
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
      return std::make_shared<ValueRanker>(std::move(rankings), described.size());
    }
    std::vector<WeakRanking> rankings;
    for (const Round& round : rounds_)
      rankings.push_back({round.candidate.feature, threshold_of(round.candidate),
                          static_cast<double>(round.candidate.q_default), round.alpha});
    return std::make_shared<StepRanker>(std::move(rankings), described);
  }

  JsonObject training(double loss) const {
    JsonObject training;
    training["options"] = options_json(options_);
    training["rounds"] = rounds_.size();
    training["stopped"] = stop_reason_;
    training["queries"] = feedback_.queries.size();
    training["queries_left_out"] = feedback_.left_out;
    training["documents"] = feedback_.used_documents;
    training["crucial_pairs"] = feedback_.crucial_pairs;
    if (!feedback_.pairs.empty()) training["contradictory_pairs"] = feedback_.contradictory_pairs;
    training["ranking_loss"] = loss;
    training["bound"] = rounds_.empty() ? 1.0 : std::exp(rounds_.back().log_bound);
    if (feedback_.is_single_bipartite)
      training["single_bipartite"] = JsonObject{{"below", feedback_.below}, {"above", feedback_.above}};
    JsonArray reduced;
    for (std::size_t i = 0; i < features_.feature_count(); ++i)
      if (features_.thresholds(i).is_reduced) reduced.emplace_back(request_.train->matrix.features()[i].name);
    if (!reduced.empty()) training["reduced_features"] = std::move(reduced);
    return training;
  }

  std::string summary(double loss) const {
    std::string text = std::to_string(rounds_.size()) + " rounds (" + stop_reason_ + "), " +
                       std::to_string(feedback_.queries.size()) + " queries, " +
                       std::to_string(feedback_.used_documents) + " documents, " +
                       std::to_string(feedback_.crucial_pairs) + " crucial pairs";
    if (feedback_.left_out > 0)
      text += "; " + std::to_string(feedback_.left_out) + " queries without a crucial pair were left out";
    if (feedback_.contradictory_pairs > 0)
      text += "; " + std::to_string(feedback_.contradictory_pairs) + " pairs contradict other feedback";
    text += "\nranking loss ";
    append_number(text, loss);
    text += ", bounded by ";
    append_number(text, rounds_.empty() ? 1.0 : std::exp(rounds_.back().log_bound));
    text += " (theorem 1)\n";
    for (std::size_t i = 0; i < features_.feature_count(); ++i) {
      const Thresholds& thresholds = features_.thresholds(i);
      if (!thresholds.is_reduced) continue;
      text += "feature " + request_.train->matrix.features()[i].name + ": " +
              std::to_string(thresholds.distinct) + " values reduced to " +
              std::to_string(thresholds.size()) + " thresholds\n";
    }
    return text;
  }

  TrainingResult result() {
    const double loss = ranking_loss(feedback_, trainer_.scores());
    TrainingResult result;
    result.model.learner = "rankboost";
    result.model.features = request_.train->matrix.features();
    result.model.ranker = ranker();
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
  std::vector<Round> rounds_;
  std::vector<JsonObject> trace_;
  std::string stop_reason_;
};

Result<TrainingResult> train(const TrainingRequest& request) {
  const auto options = parse_options(request.options);
  if (!options) return options.error();
  const auto feedback = make_feedback(*request.train);
  if (!feedback) return feedback.error();
  return Run(request, *options, *feedback).train();
}

Result<std::shared_ptr<const Ranker>> read(const JsonObject& body, const std::vector<Feature>& features) {
  return body.contains("value_rankings") ? read_value_ranker(body, features)
                                         : read_step_ranker(body, features);
}

}  // namespace

Learner learner() {
  Learner row;
  row.name = "rankboost";
  row.meaning = "a sum of thresholded ranking features, chosen round by round on the crucial pairs";
  row.source = "Freund, Iyer, Schapire, Singer 2003, sec. 3 and 4";
  row.options = option_rows();
  row.train = train;
  row.read = read;
  return row;
}

}  // namespace metafuse::fusion::rankboost
