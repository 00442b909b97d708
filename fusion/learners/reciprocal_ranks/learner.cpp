#include "fusion/learners/reciprocal_ranks/learner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/data/base_queries.h"
#include "fusion/data/features.h"
#include "fusion/learners/common/bagging.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/rankboost/trainer.h"
#include "fusion/learners/reciprocal_ranks/pair_weights.h"
#include "fusion/model/prior.h"
#include "fusion/unsupervised/supervised_fusion.h"

// Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009) as a learner. It can learn nothing (equal
// weights), which list is best or how much each list counts, and RankBoost on top of that. Boosting takes the
// weighted sum, scaled by the alpha that minimises Z, as H_0. RankBoost's first distribution is then D_1 ~
// exp(H_0(below) - H_0(above)) (Freund et al. 2003, fig. 1). The fewer crucial pairs there are, the more the
// learned sum is shrunk towards H_0, since a handful of pairs says little about lists that the fusion already
// uses well.
namespace metafuse::fusion::reciprocal_ranks {
namespace {

constexpr double kLargestScore = 30.0;  // of the prior; keeps e^H far from overflow

constexpr double kLeastWeight =
    0.05;  // of a list that pairs speak against: it still orders what it alone has

constexpr std::array<double, 4> kTriedK = {5.0, 10.0, 20.0, 40.0};

enum class ListWeights { equal, best, tuned, pairs };
enum class KBy { given, training };

struct ReciprocalOptions {
  ListWeights weights = ListWeights::equal;
  double k = kRrfConstant;
  KBy k_by = KBy::given;
  std::size_t rounds = 0;
  double prior_pairs = 2000.0;
  double pairs_of_query = 2000.0;
  std::size_t bags = 1;
};

void declare_options(OptionTable& table, ReciprocalOptions& options) {
  table.choice(
      "weights", options.weights,
      {{"equal", ListWeights::equal},
       {"best", ListWeights::best},
       {"tuned", ListWeights::tuned},
       {"pairs", ListWeights::pairs}},
      "all lists count the same, only the best one counts, weights are found by coordinate search, or "
      "crucial pairs move them away from 1, as far as two halves of the base queries agree");
  table.number("k", options.k, 0.0, 1e6, "the constant k in weight / (k + rank)");
  table.choice(
      "k-by", options.k_by, {{"given", KBy::given}, {"training", KBy::training}},
      "use --k, or the one of 5, 10, 20 and 40 that fuses best with lists weighted by their precision");
  table.count("rounds", options.rounds, 0, 100'000, "rounds of RankBoost on top of the fused scores");
  table.number("prior-pairs", options.prior_pairs, 0.0, 1e12,
               "number of crucial pairs at which the fused scores and the rounds weigh the same");
  table.number("pairs-of-query", options.pairs_of_query, 1.0, 1e12,
               "maximum number of crucial pairs that one base query counts for against --prior-pairs");
  table.count(
      "bags", options.bags, 1, 1000,
      "number of RankBoosts on bootstrap samples of the base queries to average; 1 trains one on all");
  table.hide_default();
}

/// The rank features of one query as lists whose scores are the ranks, and the relevant documents.
JudgedLists judged_ranks(const TrainingSet& set, const QueryRange& query) {
  JudgedLists out;
  out.query = lists_of(set.matrix, query.begin, query.end);
  for (std::size_t row = query.begin; row < query.end; ++row) {
    out.query.documents[row - query.begin] = set.documents[row];
    out.is_relevant.push_back(set.grades[row] >= set.feedback.relevance_level ? 1 : 0);
    out.relevant += out.is_relevant.back() != 0 ? 1 : 0;
  }
  for (std::vector<ListEntry>& list : out.query.lists)
    for (ListEntry& entry : list) entry.score = -entry.score;
  return out;
}

/// The same, with reciprocal rank shares as scores.
std::vector<JudgedLists> judged_shares(std::vector<JudgedLists> ranks, double k) {
  for (JudgedLists& query : ranks)
    for (std::vector<ListEntry>& list : query.query.lists)
      for (ListEntry& entry : list) entry.score = reciprocal_rank_share(entry.score, k);
  return ranks;
}

/// The k to use: the given one, or the one that fuses the training queries' lists best (the largest, if
/// several do).
double steepness(const std::vector<JudgedLists>& ranks, const ReciprocalOptions& options) {
  if (options.k_by == KBy::given) return options.k;
  double chosen = options.k;
  double best = 0.0;
  for (const double k : kTriedK) {
    const double precision = precision_of_weighted_lists(judged_shares(ranks, k), Normalisation::none);
    if (precision < best || precision <= 0.0) continue;
    best = precision;
    chosen = k;
  }
  return chosen;
}

/// The weight of what was learned: p^2 / (p^2 + prior^2) for p crucial pairs. The pairs of one base query
/// resemble each other, so each base query counts for at most options.pairs_of_query pairs.
double share_of_learned(const TrainingSet& set, const rankboost::Feedback& feedback,
                        const ReciprocalOptions& options) {
  std::map<std::string_view, double> pairs_of_base;
  for (const rankboost::QueryFeedback& query : feedback.queries) {
    const auto at = std::ranges::lower_bound(set.queries, query.begin, {}, &QueryRange::begin);
    pairs_of_base[base_query_of(at->id)] += static_cast<double>(feedback.pairs_of(query));
  }
  double pairs = 0.0;
  for (const auto& [base, count] : pairs_of_base) pairs += std::min(count, options.pairs_of_query);
  return pairs * pairs / (pairs * pairs + options.prior_pairs * options.prior_pairs);
}

/// The scores minus their mean within each query.
std::vector<double> centred(std::vector<double> scores, const TrainingSet& set) {
  for (const QueryRange& query : set.queries) {
    const std::span own(scores.data() + query.begin, query.end - query.begin);
    const double mean = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    for (double& score : own) score -= mean;
  }
  return scores;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Moves the weights, which are those of reciprocal rank fusion, as far as crucial pairs can teach something
/// and halves of the base queries agree on it. The fused scores count as log-odds of standard deviation 1.
Result<void> move_by_pairs(const TrainingRequest& request, const ReciprocalOptions& options, FusedPart& sum,
                           JsonObject& training) {
  const TrainingSet& set = *request.train;
  TRY(const auto feedback, rankboost::make_feedback(set));
  const PairWeights learned = weights_of_pairs(set, feedback, sum.k, Random(request.seed));
  const std::vector<double> scores = fused_ranker(sum, set.matrix.features()).score(set.matrix);
  const double deviation =
      std::sqrt(squares_within_queries(set, scores) / static_cast<double>(scores.size()));
  const double share = share_of_learned(set, feedback, options) * learned.agreement;
  for (std::size_t feature = 0; feature < sum.weights.size(); ++feature)
    if (sum.weights[feature] > 0.0)
      sum.weights[feature] =
          std::max(kLeastWeight, 1.0 + share * (sum.k + 1.0) * deviation * learned.added[feature]);
  training["agreement_of_halves"] = learned.agreement;
  training["crucial_pairs"] = feedback.crucial_pairs;
  training["share_of_learned"] = share;
  return {};
}

/// The fused scores, H_0. Its steps are what was learned elsewhere.
///
/// out:    training - what the model records of it
/// errors: bad_data: weights are to be learned, but no list holds a relevant document, or there are no pairs
Result<FusedPart> list_sum(const TrainingRequest& request, const ReciprocalOptions& options,
                           JsonObject& training) {
  const TrainingSet& set = *request.train;
  const std::vector<Feature>& features = set.matrix.features();
  FusedPart out{options.k, {}, {}};
  if (const Prior* prior = request.prior; prior != nullptr) {
    if (options.weights != ListWeights::equal || options.k_by != KBy::given)
      return fail(Code::usage,
                  "--start-from takes the place of the lists' weights; leave out --weights and --k-by");
    out.weights.assign(features.size(), 0.0);
    out.steps = prior->steps;
    return out;
  }
  for (const Feature& feature : features)
    out.weights.push_back(feature.kind == FeatureKind::rank ? 1.0 : 0.0);
  if (options.weights == ListWeights::equal && options.k_by == KBy::given) return out;
  std::vector<JudgedLists> ranks;
  for (const QueryRange& query : set.queries) ranks.push_back(judged_ranks(set, query));
  out.k = steepness(ranks, options);
  if (options.weights == ListWeights::equal) return out;
  if (options.weights == ListWeights::pairs) {
    TRY_VOID(move_by_pairs(request, options, out, training));
    return out;
  }
  const std::vector<JudgedLists> queries = judged_shares(std::move(ranks), out.k);
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
    out.weights[feature] = options.weights == ListWeights::best ? (at == best ? 1.0 : 0.0) : *at;
  }
  return out;
}

/// Runs RankBoost on top of H_0, on the request's threads.
/// in: prior - H_0 for every row
Result<std::vector<WeakRanking>> boosted_once(const TrainingRequest& request, const TrainingSet& set,
                                              const std::vector<double>& prior, std::size_t rounds) {
  TRY(const auto feedback, rankboost::make_feedback(set));
  rankboost::Options options;
  options.rounds = rounds;
  const CodedFeatures features(set.matrix, options.thresholds, feedback.is_used);
  rankboost::Trainer trainer({feedback, features, options, request.threads}, prior);
  std::vector<WeakRanking> rankings;
  const Timer timer(request.limit);
  while (rankings.size() < rounds) {
    const auto round = trainer.step();
    if (!round) break;
    const FeatureKind kind = set.matrix.features()[round->candidate.feature].kind;
    rankings.push_back(rankboost::weak_ranking_of(*round, features, kind));
    if (timer.is_over()) break;
  }
  return rankings;
}

/// The scores of the rows of the selected queries.
std::vector<double> rows_of(const std::vector<double>& scores, const TrainingSet& set,
                            const std::vector<std::size_t>& queries) {
  std::vector<double> out;
  for (const std::size_t query : queries)
    out.insert(out.end(), scores.begin() + static_cast<std::ptrdiff_t>(set.queries[query].begin),
               scores.begin() + static_cast<std::ptrdiff_t>(set.queries[query].end));
  return out;
}

/// The mean of RankBoosts on bootstrap samples of the queries; a sample without a crucial pair adds nothing.
Result<std::vector<WeakRanking>> boosted_bags(const TrainingRequest& request,
                                              const std::vector<double>& prior,
                                              const ReciprocalOptions& options) {
  std::vector<std::vector<WeakRanking>> trained(options.bags);
  const Random random(request.seed);
  for_each_bag(request, options.bags, [&](std::size_t bag) {
    const auto sample = bootstrap_sample(request.train->queries.size(), random.split(bag));
    TrainingRequest inner = request;
    inner.threads = 1;
    inner.limit = limit_of_bag(request, options.bags);
    const TrainingSet own = select_queries(*request.train, sample);
    auto rankings = boosted_once(inner, own, rows_of(prior, *request.train, sample), options.rounds);
    if (rankings) trained[bag] = std::move(*rankings);
  });
  const std::vector<std::span<const WeakRanking>> bags(trained.begin(), trained.end());
  return mean_of_bags(bags);
}

/// The factor of the fused scores. The share that pairs can determine comes from the alpha that minimises Z,
/// the rest from the factor that makes the standard deviation within queries 1.
double prior_alpha(const TrainingSet& set, const rankboost::Feedback& feedback,
                   const std::vector<double>& scores, double share) {
  const double squares = squares_within_queries(set, scores);
  double most = 0.0;
  for (const double score : scores) most = std::max(most, std::abs(score));
  const double deviation = std::sqrt(squares / static_cast<double>(scores.size()));
  if (!(deviation > 0.0)) return 1.0;  // all documents have the same fused score
  const double steepest = kLargestScore / most;
  return share * rankboost::alpha_of_scores(feedback, scores, steepest) +
         (1.0 - share) * std::min(1.0 / deviation, steepest);
}

/// Boosts on top of the fused scores, whose weights are scaled for it.
/// out: the weak rankings, shrunk by how much the feedback can teach; training - what the model records of it
Result<std::vector<WeakRanking>> boosted(const TrainingRequest& request, const ReciprocalOptions& options,
                                         FusedPart& sum, JsonObject& training) {
  const TrainingSet& set = *request.train;
  TRY(const auto feedback, rankboost::make_feedback(set));
  const double share = share_of_learned(set, feedback, options);
  std::vector<double> scores = fused_ranker(sum, set.matrix.features()).score(set.matrix);
  const double alpha = prior_alpha(set, feedback, scores, share);
  scale(sum, alpha);
  for (double& score : scores) score *= alpha;
  TRY(auto rankings, options.bags > 1 ? boosted_bags(request, scores, options)
                                      : boosted_once(request, set, scores, options.rounds));
  for (WeakRanking& ranking : rankings) ranking.alpha *= share;
  training["crucial_pairs"] = feedback.crucial_pairs;
  training["share_of_learned"] = share;
  return rankings;
}

}  // namespace

Result<FusedTraining> train_fused(const TrainingRequest& request) {
  const TrainingSet& set = *request.train;
  TRY(const auto options, read_options<ReciprocalOptions>(request.options));
  if (count_lists(set.matrix.features()) == 0)
    return fail(Code::bad_data,
                "reciprocal-ranks needs rank features, and there are none; use the learner rankboost");
  FusedTraining out;
  TRY(out.fused, list_sum(request, options, out.record));
  std::vector<WeakRanking> rankings;
  if (options.rounds > 0) {
    TRY(rankings, boosted(request, options, out.fused, out.record));
  }
  out.rounds = rankings.size();
  out.record["options"] = options_json(options);
  out.record["k"] = out.fused.k;
  out.record["queries"] = set.queries.size();
  if (request.prior != nullptr) out.record["prior"] = prior_record(*request.prior);
  out.fused.steps.insert(out.fused.steps.end(), rankings.begin(), rankings.end());
  return out;
}

namespace {

Result<TrainingResult> train_reciprocal(const TrainingRequest& request) {
  const std::vector<Feature>& features = request.train->matrix.features();
  TRY(auto trained, train_fused(request));
  TrainingResult result;
  result.summary = std::string(request.prior == nullptr ? "reciprocal rank fusion of "
                                                        : "what other domains learned about ") +
                   std::to_string(features.size()) + " features, and " + std::to_string(trained.rounds) +
                   " weak rankings on top\n";
  result.model.learner = "reciprocal-ranks";
  result.model.features = features;
  result.model.training = std::move(trained.record);
  result.model.ranker = std::make_shared<SumRanker>(fused_ranker(std::move(trained.fused), features));
  return result;
}

}  // namespace

void scale(FusedPart& fused, double factor) {
  for (double& weight : fused.weights) weight *= factor;
  for (WeakRanking& step : fused.steps) step.alpha *= factor;
}

SumRanker fused_ranker(FusedPart fused, const std::vector<Feature>& features) {
  return {SumParts{std::move(fused), {}, {}}, features};
}

double squares_within_queries(const TrainingSet& set, const std::vector<double>& scores) {
  const std::vector<double> differences = centred(scores, set);
  return product(differences, differences);
}

Learner learner() {
  return {.name = "reciprocal-ranks",
          .meaning = "reciprocal rank fusion, optionally with learned weights or as the prior of RankBoost",
          .source = "Cormack, Clarke, Buettcher 2009; Freund, Iyer, Schapire, Singer 2003, fig. 1",
          .options = option_rows<ReciprocalOptions>(),
          .train = train_reciprocal,
          .can = {.start_from = true, .limit_time = true}};
}

}  // namespace metafuse::fusion::reciprocal_ranks
