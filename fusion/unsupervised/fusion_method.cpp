#include "fusion/unsupervised/fusion_method.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

using Score = decltype(FusionMethod::score);

FusionMethod by_rank(const char* name, const char* meaning, const char* source, Score score) {
  FusionMethod method;
  method.name = name;
  method.meaning = meaning;
  method.source = source;
  method.score = score;
  return method;
}

FusionMethod by_score(const char* name, const char* meaning, const char* source, Score score) {
  FusionMethod method = by_rank(name, meaning, source, score);
  method.uses_scores = true;
  method.takes_weights = true;
  method.default_normalise = Normalisation::min_max;
  return method;
}

FusionMethod with_k(FusionMethod method, const char* parameter, double fallback) {
  method.parameter = parameter;
  method.default_k = fallback;
  return method;
}

FusionMethod with_weights(FusionMethod method) {
  method.takes_weights = true;
  return method;
}

FusionMethod needing_weights(FusionMethod method) {
  method.takes_weights = true;
  method.needs_weights = true;
  return method;
}

FusionMethod supervised(FusionMethod method) {
  method.is_supervised = true;
  method.takes_weights = false;
  return method;
}

std::vector<FusionMethod> unsupervised_rows() {
  namespace m = unsupervised;
  constexpr const char* kFoxShaw = "Fox, Shaw 1994";
  constexpr const char* kDwork = "Dwork, Kumar, Naor, Sivakumar 2001";
  constexpr const char* kRestart = "probability of a restart";
  return {
      with_weights(with_k(by_rank("rrf", "reciprocal rank fusion", "Cormack, Clarke, Buettcher 2009",
                                  m::reciprocal_rank_fusion),
                          "added to every rank", 60)),
      by_score("combmin", "least score", kFoxShaw, m::comb_min),
      by_score("combmax", "greatest score", kFoxShaw, m::comb_max),
      by_score("combmed", "median score", kFoxShaw, m::comb_median),
      by_score("combsum", "sum of scores", kFoxShaw, m::comb_sum),
      by_score("combanz", "mean score of the lists that hold the document", kFoxShaw, m::comb_anz),
      by_score("combmnz", "sum of scores x number of lists", kFoxShaw, m::comb_mnz),
      with_k(by_score("combgmnz", "sum of scores x number of lists to the k", "Lee 1997", m::comb_gmnz),
             "exponent of the number of lists", 2),
      with_weights(by_rank("isr", "inverse square rank", "Mourao et al. 2014", m::inverse_square_rank)),
      with_weights(with_k(by_rank("log_isr", "inverse square rank, logarithm of the number of lists",
                                  "Mourao et al. 2014", m::log_inverse_square_rank),
                          "added to the number of lists", 0.01)),
      with_weights(
          with_k(by_rank("rbc", "rank-biased centroid", "Bailey et al. 2017", m::rank_biased_centroid),
                 "persistence", 0.9)),
      by_rank("borda", "Borda count", "Aslam, Montague 2001", m::borda),
      needing_weights(
          by_rank("weighted_borda", "Borda count with weighted lists", "Aslam, Montague 2001", m::borda)),
      by_rank("condorcet", "sort by the majority of the lists", "Montague, Aslam 2002", m::condorcet),
      needing_weights(by_rank("weighted_condorcet", "sort by the weighted majority of the lists",
                              "Montague, Aslam 2002", m::condorcet)),
      with_weights(by_rank("copeland", "majority wins minus losses", "Copeland 1951", m::copeland)),
      with_k(by_rank("mc1", "Markov chain over places at or above", kDwork, m::markov_chain_1), kRestart,
             0.05),
      with_k(by_rank("mc2", "Markov chain, a list first", kDwork, m::markov_chain_2), kRestart, 0.05),
      with_k(by_rank("mc3", "Markov chain, a document of a list", kDwork, m::markov_chain_3), kRestart, 0.05),
      with_k(by_rank("mc4", "Markov chain by majority", kDwork, m::markov_chain_4), kRestart, 0.05),
      by_rank("median_rank", "median of the ranks", "Fagin, Kumar, Sivakumar 2003", m::median_rank),
      by_rank("rra", "robust rank aggregation", "Kolde, Laur, Adler, Vilo 2012", m::robust_rank_aggregation),
      needing_weights(by_score("weighted_sum", "weighted sum of scores", kFoxShaw, m::comb_sum)),
      with_weights(by_rank("searxng", "SearXNG's formula: lists x sum of 1 / rank",
                           "SearXNG, searx/results.py", m::searxng)),
      by_rank("round_robin", "the lists in turn", "Voorhees, Gupta, Johnson-Laird 1995", m::round_robin),
  };
}

std::vector<FusionMethod> supervised_rows() {
  namespace m = unsupervised;
  std::vector<FusionMethod> rows = {
      supervised(by_rank("bayesfuse", "sum of log odds of the rank", "Aslam, Montague 2001",
                         m::sum_of_position_values)),
      supervised(by_rank("mapfuse", "average precision of the list / rank", "Lillis et al. 2010",
                         m::sum_of_position_values)),
      supervised(by_rank("posfuse", "probability of relevance at the position", "Lillis et al. 2010",
                         m::sum_of_position_values)),
      supervised(with_k(by_rank("probfuse", "probability of relevance in the segment / segment",
                                "Lillis et al. 2006", m::sum_of_position_values),
                        "segments", 25)),
      supervised(
          by_score("segfuse", "probability in growing segments x (1 + score)", "Shokouhi 2007", m::segfuse)),
      supervised(with_k(by_rank("slidefuse", "probability of relevance in a window", "Lillis et al. 2008",
                                m::sum_of_position_values),
                        "positions on each side", 5)),
      supervised(by_score("tuned_weights", "weighted sum, weights by coordinate search",
                          "Vogt, Cottrell 1999", m::comb_sum)),
  };
  return rows;
}

}  // namespace

std::span<const FusionMethod> fusion_methods() {
  static const std::vector<FusionMethod> table = [] {
    std::vector<FusionMethod> rows = unsupervised_rows();
    for (FusionMethod& row : supervised_rows()) rows.push_back(std::move(row));
    return rows;
  }();
  return table;
}

const FusionMethod* find_fusion_method(std::string_view name) {
  for (const FusionMethod& method : fusion_methods())
    if (method.name == name) return &method;
  return nullptr;
}

Result<void> check_fusion_options(const FusionMethod& method, const FusionOptions& options,
                                  std::size_t lists) {
  if (options.k && method.parameter.empty())
    return fail(Code::usage, "--k: the method " + method.name + " has no parameter; leave it out");
  if (options.k && (!std::isfinite(*options.k) || *options.k < 0.0))
    return fail(Code::usage, "--k: must be a number of at least 0");
  const double k = options.k.value_or(method.default_k);
  if ((method.name == "rbc" || method.name.starts_with("mc")) && k >= 1.0)
    return fail(Code::usage, "--k: must be a probability below 1 for " + method.name);
  if ((method.name == "probfuse") && k < 1.0)
    return fail(Code::usage, "--k: probfuse needs at least one segment");
  if (options.normalise && !method.uses_scores)
    return fail(Code::usage, "--normalise: the method " + method.name + " uses ranks only; leave it out");
  if (!options.weights.empty() && !method.takes_weights)
    return fail(Code::usage,
                "--weights: the method " + method.name + " does not use weights; leave them out");
  if (!options.weights.empty() && options.weights.size() != lists)
    return fail(Code::usage, "--weights: " + std::to_string(options.weights.size()) + " weights for " +
                                 std::to_string(lists) + " runs; give one per run");
  for (const double weight : options.weights)
    if (!std::isfinite(weight) || weight < 0.0)
      return fail(Code::usage, "--weights: must be numbers of at least 0");
  if (method.needs_weights && options.weights.empty())
    return fail(Code::usage,
                "the method " + method.name + " needs --weights W,..., or --train QRELS to learn them");
  return {};
}

std::vector<double> fuse_scores(const FusionMethod& method, const QueryLists& query,
                                const FusionOptions& options) {
  std::vector<double> scores(query.size(), 0.0);
  if (scores.empty()) return scores;
  require(!method.is_supervised || !options.knowledge.value_at.empty() || !options.weights.empty(),
          "a supervised method is trained first");
  const double k = options.k.value_or(method.default_k);
  const Normalisation normalisation = options.normalise.value_or(method.default_normalise);
  if (method.uses_scores && normalisation != Normalisation::none)
    method.score(normalised(query, normalisation), options, k, scores);
  else
    method.score(query, options, k, scores);
  return scores;
}

}  // namespace metafuse::fusion
