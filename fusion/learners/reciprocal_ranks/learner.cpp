#include "fusion/learners/reciprocal_ranks/learner.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "fusion/data/features.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/options.h"
#include "fusion/unsupervised/supervised_fusion.h"

// Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009) as a learner, in three steps of what is learned:
// nothing (equal weights), which list is best or how much each list counts, and RankBoost on top. Boosting
// takes the weighted sum, scaled by the alpha of least Z, as H_0: RankBoost's first distribution is then D_1
// ~ exp(H_0(below) - H_0(above)) (Freund et al. 2003, fig. 1), and the learned sum is shrunk towards H_0 by
// how few crucial pairs there are, since a handful of pairs says little about lists that the fusion already
// knows how to use.
namespace metafuse::fusion::reciprocal_ranks {
namespace {

constexpr std::size_t kMostPairs = 3'000'000;
constexpr double kSteepest = 1000.0;  // the largest alpha of the prior; a share is at most 1 / k

enum class ListWeights { equal, best, tuned };

struct ReciprocalOptions {
  ListWeights weights = ListWeights::equal;
  double k = kRrfConstant;
  std::size_t rounds = 0;
  double prior_pairs = 2000.0;
};

void declare_options(OptionTable& table, ReciprocalOptions& options) {
  table.choice("weights", options.weights,
               {{"equal", ListWeights::equal}, {"best", ListWeights::best}, {"tuned", ListWeights::tuned}},
               "every list counts the same, only the best one does, or as coordinate search finds best");
  table.number("k", options.k, 0.0, 1e6, "of weight / (k + rank)");
  table.count("rounds", options.rounds, 0, 100'000, "rounds of RankBoost that start from the fused scores");
  table.number("prior-pairs", options.prior_pairs, 0.0, 1e12,
               "crucial pairs that the fused scores weigh as much as");
}

/// The rank features of one query as lists whose scores are reciprocal rank shares, with the
/// relevant documents.
JudgedLists judged_lists(const TrainingSet& set, const QueryRange& query, double k) {
  JudgedLists out;
  for (std::size_t row = query.begin; row < query.end; ++row) {
    out.query.documents.push_back(set.documents[row]);
    out.is_relevant.push_back(set.grades[row] >= set.feedback.relevance_level ? 1 : 0);
    out.is_judged.push_back(1);
    out.relevant += out.is_relevant.back() != 0 ? 1 : 0;
  }
  for (std::size_t feature = 0; feature < set.matrix.feature_count(); ++feature) {
    if (set.matrix.features()[feature].kind != FeatureKind::rank) continue;
    std::vector<ListEntry> list;
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (!set.matrix.is_unranked(row, feature))
        list.push_back({static_cast<std::uint32_t>(row - query.begin),
                        reciprocal_rank_share(-set.matrix.value(row, feature), k)});
    std::stable_sort(list.begin(), list.end(),
                     [](const ListEntry& a, const ListEntry& b) { return a.score > b.score; });
    out.query.lists.push_back(std::move(list));
  }
  return out;
}

/// One weight per feature, 0 of value features.
/// errors: bad_data: weights are to be learned, and no list holds a relevant document
Result<std::vector<double>> list_weights(const TrainingSet& set, const ReciprocalOptions& options) {
  const std::vector<Feature>& features = set.matrix.features();
  std::vector<double> weights;
  for (const Feature& feature : features) weights.push_back(feature.kind == FeatureKind::rank ? 1.0 : 0.0);
  if (options.weights == ListWeights::equal) return weights;
  std::vector<JudgedLists> queries;
  for (const QueryRange& query : set.queries) queries.push_back(judged_lists(set, query, options.k));
  const FusionMethod* method =
      find_fusion_method(options.weights == ListWeights::best ? "weighted_sum" : "tuned_weights");
  FusionOptions raw;
  raw.normalise = Normalisation::none;
  TRY(auto learned, train_fusion(*method, queries, raw));
  const auto best = std::max_element(learned.weights.begin(), learned.weights.end());
  std::size_t list = 0;
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    if (features[feature].kind != FeatureKind::rank) continue;
    const auto at = learned.weights.begin() + static_cast<std::ptrdiff_t>(list++);
    weights[feature] = options.weights == ListWeights::best ? (at == best ? 1.0 : 0.0) : *at;
  }
  return weights;
}

/// Every crucial pair of the grades, with weight 1.
/// errors: bad_data: none, or too many to be listed
Result<std::vector<WeightedPair>> listed_pairs(const TrainingSet& set) {
  std::vector<WeightedPair> pairs = set.pairs;
  for (const QueryRange& query : set.queries)
    for (std::size_t above = query.begin; above < query.end; ++above)
      for (std::size_t below = query.begin; below < query.end; ++below) {
        if (!is_in_feedback(set, above) || !is_in_feedback(set, below)) continue;
        if (!(feedback_grade(set, above) > feedback_grade(set, below))) continue;
        if (pairs.size() == kMostPairs)
          return fail(Code::bad_data, "more than 3,000,000 crucial pairs; take the learner rankboost");
        pairs.push_back({static_cast<std::uint32_t>(below), static_cast<std::uint32_t>(above), 1.0});
      }
  if (pairs.empty()) return fail(Code::bad_data, "no crucial pair: no document is to stand above another");
  return pairs;
}

/// The alpha >= 0 of least Z = sum of w exp(alpha (H(below) - H(above))): Z is convex, so its slope
/// is bisected.
double alpha_of(const std::vector<WeightedPair>& pairs, const std::vector<double>& scores) {
  const auto slope = [&](double alpha) {
    double sum = 0.0;
    for (const WeightedPair& pair : pairs) {
      const double difference = scores[pair.below] - scores[pair.above];
      sum += pair.weight * difference * std::exp(alpha * difference);
    }
    return sum;
  };
  double low = 0.0;
  double high = kSteepest;
  if (slope(low) >= 0.0) return 0.0;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (slope(middle) < 0.0 ? low : high) = middle;
  }
  return low;
}

/// Weak rankings that RankBoost adds to the prior, times how much the pairs count against `prior_pairs`.
Result<std::vector<WeakRanking>> boosted(const TrainingRequest& request, const Learner& rankboost,
                                         const ReciprocalOptions& options, std::vector<WeightedPair> pairs,
                                         const std::vector<double>& prior) {
  const auto count = static_cast<double>(pairs.size());
  for (WeightedPair& pair : pairs) pair.weight *= std::exp(prior[pair.below] - prior[pair.above]);
  TrainingSet set = *request.train;
  set.pairs = std::move(pairs);
  std::fill(set.grades.begin(), set.grades.end(), 0.0);
  set.feedback.query_weights = FeedbackOptions::QueryWeights::pairs;
  TrainingRequest inner;
  inner.train = &set;
  inner.options = {{"rounds", std::to_string(options.rounds)}};
  inner.seed = request.seed;
  inner.threads = request.threads;
  inner.wants_trace = false;
  TRY(auto trained, rankboost.train(inner));
  const auto& steps = dynamic_cast<const StepRanker&>(*trained.model.ranker);
  std::vector<WeakRanking> rankings = steps.rankings();
  for (WeakRanking& ranking : rankings) ranking.alpha *= count / (count + options.prior_pairs);
  return rankings;
}

Result<TrainingResult> train_reciprocal(const TrainingRequest& request, const Learner& rankboost) {
  const TrainingSet& set = *request.train;
  const std::vector<Feature>& features = set.matrix.features();
  TRY(const auto options, read_options<ReciprocalOptions>(request.options));
  if (std::none_of(features.begin(), features.end(),
                   [](const Feature& feature) { return feature.kind == FeatureKind::rank; }))
    return fail(Code::bad_data,
                "reciprocal-ranks fuses lists, and no feature is a rank; take the learner rankboost");
  TRY(auto weights, list_weights(set, options));
  std::vector<WeakRanking> rankings;
  TrainingResult result;
  if (options.rounds > 0) {
    TRY(auto pairs, listed_pairs(set));
    std::vector<double> prior =
        ReciprocalRanker(options.k, weights, StepRanker({}, features)).score(set.matrix);
    const double alpha = alpha_of(pairs, prior);
    for (double& score : prior) score *= alpha;
    for (double& weight : weights) weight *= alpha;
    result.model.training["crucial_pairs"] = pairs.size();
    TRY(auto added, boosted(request, rankboost, options, std::move(pairs), prior));
    rankings = std::move(added);
  }
  result.summary = "reciprocal rank fusion of " + std::to_string(features.size()) + " features, and " +
                   std::to_string(rankings.size()) + " weak rankings on top\n";
  result.model.learner = "reciprocal-ranks";
  result.model.features = features;
  result.model.training["options"] = options_json(options, '-');
  result.model.training["queries"] = set.queries.size();
  result.model.ranker = std::make_shared<ReciprocalRanker>(options.k, std::move(weights),
                                                           StepRanker(std::move(rankings), features));
  return result;
}

Result<std::shared_ptr<const Ranker>> read_reciprocal(const JsonObject& body,
                                                      const std::vector<Feature>& features) {
  const auto finite = [](const Json* value) {
    return value != nullptr && value->is_number() && std::isfinite(value->to_number<double>());
  };
  const Json* k = body.if_contains("k");
  if (!finite(k) || k->to_number<double>() < 0.0)
    return fail(Code::bad_data, "body.k: no number from 0 on; train the model again");
  const Json* list = body.if_contains("weights");
  if (list == nullptr || !list->is_array() || list->get_array().size() != features.size())
    return fail(Code::bad_data, "body.weights: not one number per feature; train the model again");
  std::vector<double> weights;
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    const Json& item = list->get_array()[feature];
    if (!finite(&item) || (features[feature].kind != FeatureKind::rank && item.to_number<double>() != 0.0))
      return fail(Code::bad_data, "body.weights[" + std::to_string(feature) +
                                      "]: no finite number, or one of a feature that is no rank; train the "
                                      "model again");
    weights.push_back(item.to_number<double>());
  }
  TRY(auto rankings, read_weak_rankings(body, features));
  return std::shared_ptr<const Ranker>(std::make_shared<ReciprocalRanker>(
      k->to_number<double>(), std::move(weights), StepRanker(std::move(rankings), features)));
}

}  // namespace

double ReciprocalRanker::share(const FeatureMatrix& documents, std::size_t document,
                               std::size_t feature) const {
  if (weights_[feature] == 0.0 || documents.is_unranked(document, feature)) return 0.0;
  return weights_[feature] * reciprocal_rank_share(-documents.value(document, feature), k_);
}

std::vector<double> ReciprocalRanker::score(const FeatureMatrix& documents) const {
  std::vector<double> scores = steps_.score(documents);
  for (std::size_t document = 0; document < scores.size(); ++document)
    for (std::size_t feature = 0; feature < weights_.size(); ++feature)
      scores[document] += share(documents, document, feature);
  return scores;
}

std::vector<double> ReciprocalRanker::contributions(const FeatureMatrix& documents,
                                                    std::size_t document) const {
  std::vector<double> parts = steps_.contributions(documents, document);
  for (std::size_t feature = 0; feature < weights_.size(); ++feature)
    parts[feature] += share(documents, document, feature);
  return parts;
}

JsonObject ReciprocalRanker::body() const {
  JsonObject body = steps_.body();
  body["k"] = k_;
  body["weights"] = JsonArray(weights_.begin(), weights_.end());
  return body;
}

std::string ReciprocalRanker::describe(const std::vector<Feature>& features) const {
  std::ostringstream text;
  text << "score = sum of weight / (" << k_ << " + rank)\n";
  for (std::size_t feature = 0; feature < features.size(); ++feature)
    text << "  " << features[feature].name << ": weight " << weights_[feature] << '\n';
  if (!steps_.rankings().empty()) text << "and on top\n" << steps_.describe(features);
  return text.str();
}

Learner learner(Learner rankboost) {
  Learner row;
  row.name = "reciprocal-ranks";
  row.meaning = "reciprocal rank fusion, with learned weights or as the prior of RankBoost if asked for";
  row.source = "Cormack, Clarke, Buettcher 2009; Freund, Iyer, Schapire, Singer 2003, fig. 1";
  row.options = option_rows<ReciprocalOptions>();
  const auto shared = std::make_shared<const Learner>(std::move(rankboost));
  row.train = [shared](const TrainingRequest& request) { return train_reciprocal(request, *shared); };
  row.read = read_reciprocal;
  return row;
}

}  // namespace metafuse::fusion::reciprocal_ranks
