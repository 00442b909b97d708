#include "fusion/unsupervised/fusion_method.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

// What a method uses besides the ranks of documents, and how it works.
constexpr unsigned kRanks = 0;
constexpr unsigned kScores = 1;
constexpr unsigned kWeights = 2;
constexpr unsigned kNeededWeights = 4 | kWeights;
constexpr unsigned kTraining = 8;
constexpr unsigned kSum = 16;
constexpr unsigned kPairs = 32;

struct MethodRow {
  const char* name;
  const char* meaning;
  const char* source;
  decltype(FusionMethod::score) score;
  unsigned uses;
  const char* parameter = "";
  double default_k = 0.0;
};

constexpr const char* kFoxShaw = "Fox, Shaw 1994";
constexpr const char* kDwork = "Dwork, Kumar, Naor, Sivakumar 2001";
constexpr const char* kRestart = "probability of a restart";

namespace m = unsupervised;

constexpr MethodRow kMethodRows[] = {
    {"rrf", "reciprocal rank fusion", "Cormack, Clarke, Buettcher 2009", m::reciprocal_rank_fusion,
     kWeights | kSum, "added to every rank", 60},
    {"combmin", "least score", kFoxShaw, m::comb_min, kScores | kWeights},
    {"combmax", "greatest score", kFoxShaw, m::comb_max, kScores | kWeights},
    {"combmed", "median score", kFoxShaw, m::comb_median, kScores | kWeights},
    {"combsum", "sum of scores", kFoxShaw, m::comb_sum, kScores | kWeights | kSum},
    {"combanz", "mean score of the lists that hold the document", kFoxShaw, m::comb_anz, kScores | kWeights},
    {"combmnz", "sum of scores x number of lists", kFoxShaw, m::comb_mnz, kScores | kWeights},
    {"combgmnz", "sum of scores x number of lists to the k", "Lee 1997", m::comb_gmnz, kScores | kWeights,
     "exponent of the number of lists", 2},
    {"isr", "inverse square rank", "Mourao et al. 2014", m::inverse_square_rank, kWeights},
    {"log_isr", "inverse square rank, logarithm of the number of lists", "Mourao et al. 2014",
     m::log_inverse_square_rank, kWeights, "added to the number of lists", 0.01},
    {"rbc", "rank-biased centroid", "Bailey et al. 2017", m::rank_biased_centroid, kWeights | kSum,
     "persistence", 0.9},
    {"borda", "Borda count", "Aslam, Montague 2001", m::borda, kSum},
    {"weighted_borda", "Borda count with weighted lists", "Aslam, Montague 2001", m::borda,
     kNeededWeights | kSum},
    {"condorcet", "sort by the majority of the lists", "Montague, Aslam 2002", m::condorcet, kRanks},
    {"weighted_condorcet", "sort by the weighted majority of the lists", "Montague, Aslam 2002", m::condorcet,
     kNeededWeights},
    {"copeland", "majority wins minus losses", "Copeland 1951", m::copeland, kWeights | kPairs},
    {"mc1", "Markov chain over places at or above", kDwork, m::markov_chain_1, kRanks, kRestart, 0.05},
    {"mc2", "Markov chain, a list first", kDwork, m::markov_chain_2, kRanks, kRestart, 0.05},
    {"mc3", "Markov chain, a document of a list", kDwork, m::markov_chain_3, kRanks, kRestart, 0.05},
    {"mc4", "Markov chain by majority", kDwork, m::markov_chain_4, kPairs, kRestart, 0.05},
    {"median_rank", "median of the ranks", "Fagin, Kumar, Sivakumar 2003", m::median_rank, kRanks},
    {"rra", "robust rank aggregation", "Kolde, Laur, Adler, Vilo 2012", m::robust_rank_aggregation, kRanks},
    {"weighted_sum", "weighted sum of scores", kFoxShaw, m::comb_sum, kScores | kNeededWeights | kSum},
    {"searxng", "SearXNG's formula: lists x sum of 1 / rank", "SearXNG, searx/results.py", m::searxng,
     kWeights},
    {"round_robin", "the lists in turn", "Voorhees, Gupta, Johnson-Laird 1995", m::round_robin, kRanks},
    {"bayesfuse", "sum of log odds of the rank", "Aslam, Montague 2001", m::sum_of_position_values,
     kTraining},
    {"mapfuse", "average precision of the list / rank", "Lillis et al. 2010", m::sum_of_position_values,
     kTraining},
    {"posfuse", "probability of relevance at the position", "Lillis et al. 2010", m::sum_of_position_values,
     kTraining},
    {"probfuse", "probability of relevance in the segment / segment", "Lillis et al. 2006",
     m::sum_of_position_values, kTraining, "segments", 25},
    {"segfuse", "probability in growing segments x (1 + score)", "Shokouhi 2007", m::segfuse,
     kScores | kTraining},
    {"slidefuse", "probability of relevance in a window", "Lillis et al. 2008", m::sum_of_position_values,
     kTraining, "positions on each side", 5},
    {"tuned_weights", "weighted sum, weights by coordinate search", "Vogt, Cottrell 1999", m::comb_sum,
     kScores | kTraining},
};

FusionMethod fusion_method_of(const MethodRow& row) {
  FusionMethod method{row.name, row.meaning, row.source, row.parameter, row.default_k};
  method.takes_weights = (row.uses & kWeights) != 0;
  method.needs_weights = (row.uses & kNeededWeights) == kNeededWeights;
  method.is_supervised = (row.uses & kTraining) != 0;
  method.uses_scores = (row.uses & kScores) != 0;
  method.is_sum = (row.uses & kSum) != 0;
  method.compares_documents = (row.uses & kPairs) != 0;
  if (method.uses_scores) method.default_normalise = Normalisation::min_max;
  method.score = row.score;
  return method;
}

/// Checks the parameter that somebody gave a method.
Result<void> check_parameter(const FusionMethod& method, double k) {
  constexpr double kMostExponent = 100.0;
  constexpr double kMostPositions = 1e9;
  if (method.parameter.empty())
    return fail(Code::usage, "--k: the method " + method.name + " has no parameter; leave it out");
  if (!std::isfinite(k) || k < 0.0) return fail(Code::usage, "--k: must be a number of at least 0");
  if ((method.name == "rbc" || method.name.starts_with("mc")) && k >= 1.0)
    return fail(Code::usage, "--k: must be a probability below 1 for " + method.name);
  if (method.name == "combgmnz" && k > kMostExponent)
    return fail(Code::usage, "--k: must be at most 100 for combgmnz");
  const bool counts = method.name == "probfuse" || method.name == "slidefuse";
  if (counts && (k != std::floor(k) || k > kMostPositions))
    return fail(Code::usage, "--k: must be a whole number of at most 1000000000 for " + method.name);
  if (method.name == "probfuse" && k < 1.0)
    return fail(Code::usage, "--k: probfuse needs at least one segment");
  return {};
}

/// Limits scores, so that differences between them are finite too; the sum of infinities of unlike sign is 0.
void make_finite(std::vector<double>& scores) {
  constexpr double kMost = 1e300;
  for (double& score : scores) score = std::isnan(score) ? 0.0 : std::clamp(score, -kMost, kMost);
}

}  // namespace

std::span<const FusionMethod> fusion_methods() {
  static const std::vector<FusionMethod> table = [] {
    std::vector<FusionMethod> rows;
    std::ranges::transform(kMethodRows, std::back_inserter(rows), fusion_method_of);
    return rows;
  }();
  return table;
}

const FusionMethod* find_fusion_method(std::string_view name) {
  const auto at = std::ranges::find(fusion_methods(), name, &FusionMethod::name);
  return at == fusion_methods().end() ? nullptr : &*at;
}

Result<void> check_fusion_options(const FusionMethod& method, const FusionOptions& options, std::size_t lists,
                                  bool learns) {
  if (options.k) TRY_VOID(check_parameter(method, *options.k));
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
  if (method.needs_weights && options.weights.empty() && !learns)
    return fail(Code::usage,
                "the method " + method.name + " needs --weights W,..., or --train QRELS to learn them");
  return {};
}

std::vector<double> fuse_scores(const FusionMethod& method, const QueryLists& query,
                                const FusionOptions& options) {
  std::vector<double> scores(query.size(), 0.0);
  if (scores.empty()) return scores;
  require(!method.is_supervised || !options.value_at.empty() || !options.weights.empty(),
          "a supervised method is trained first");
  const double k = options.k.value_or(method.default_k);
  const Normalisation normalisation = options.normalise.value_or(method.default_normalise);
  if (method.uses_scores && normalisation != Normalisation::none)
    method.score(normalised(query, normalisation), options, k, scores);
  else
    method.score(query, options, k, scores);
  make_finite(scores);
  return scores;
}

}  // namespace metafuse::fusion
