#include <utility>

#include "evaluation/measures/all.h"

// The table of measures, one row per measure; measure.h describes its fields.
namespace metafuse::evaluation {
namespace {

using Takes = Measure::Takes;
using Average = Measure::Average;

const std::vector<double> kRecalls = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
const std::vector<double> kShownGrades = {10};
const std::vector<double> kMultiples = {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0};

constexpr const char* kTrec = "trec_eval";
constexpr const char* kPaper = "Freund, Iyer, Schapire, Singer 2003";

/// Summed over the queries and printed as a whole number.
Measure count(const char* name, const char* meaning, decltype(Measure::compute) compute) {
  return {name, meaning, kTrec, compute, Takes::nothing, {}, Average::sum, true};
}

/// The exponential of the mean of logarithms, which no query prints.
Measure geometric(const char* name, const char* meaning, decltype(Measure::compute) compute) {
  return {name, meaning, kTrec, compute, Takes::nothing, {}, Average::geometric, false, false};
}

Measure at_ranks(const char* name, const char* meaning, const char* source,
                 decltype(Measure::compute) compute,
                 std::vector<double> ranks = {5, 10, 15, 20, 30, 100, 200, 500, 1000}) {
  return {name, meaning, source, compute, Takes::whole_cutoffs, std::move(ranks)};
}

Measure averaged(Average average, Measure measure) {
  measure.average = average;
  return measure;
}

Measure cost(Measure measure) {
  measure.is_cost = true;
  return measure;
}

namespace m = measures;

const std::vector<Measure> kMeasures = {
    count("num_ret", "retrieved documents", m::retrieved),
    count("num_rel", "relevant documents", m::relevant),
    count("num_rel_ret", "relevant documents retrieved", m::relevant_retrieved),
    {"map", "average precision", kTrec, m::average_precision},
    geometric("gm_map", "geometric mean of average precision", m::log_average_precision),
    {"Rprec", "precision after as many documents as are relevant", kTrec, m::r_precision},
    {"bpref", "binary preference", "Buckley, Voorhees 2004", m::binary_preference},
    {"recip_rank", "1 / rank of the first relevant document", kTrec, m::reciprocal_rank},
    {"iprec_at_recall", "interpolated precision at recall", kTrec, m::interpolated_precision, Takes::cutoffs,
     kRecalls},
    at_ranks("P", "precision after k documents", kTrec, m::precision),
    averaged(Average::sum, {"relstring", "the first grades as a string, per query only", kTrec, m::nothing,
                            Takes::weights, kShownGrades}),
    at_ranks("recall", "recall after k documents", kTrec, m::recall),
    {"infAP", "inferred average precision", "Yilmaz, Aslam 2006", m::inferred_average_precision},
    geometric("gm_bpref", "geometric mean of bpref", m::log_binary_preference),
    {"Rprec_mult", "precision at multiples of the relevant documents", kTrec, m::r_precision_multiples,
     Takes::cutoffs, kMultiples},
    {"utility", "weighted sum of the contingency table", kTrec, m::utility, Takes::weights, {1, -1, 0, 0}},
    {"11pt_avg", "interpolated precision averaged over recall points", kTrec, m::mean_interpolated_precision,
     Takes::weights, kRecalls},
    {"binG", "binary G", kTrec, m::binary_gain},
    {"G", "normalised gain", kTrec, m::normalized_gain, Takes::pairs},
    {"ndcg", "normalised discounted cumulative gain", "Jarvelin, Kekalainen 2002", m::ndcg, Takes::pairs},
    {"ndcg_rel", "ndcg averaged at relevant documents", kTrec, m::ndcg_rel, Takes::pairs},
    {"Rndcg", "ndcg averaged where the ideal gain changes", kTrec, m::r_ndcg, Takes::pairs},
    at_ranks("ndcg_cut", "ndcg after k documents", "Jarvelin, Kekalainen 2002", m::ndcg_at),
    at_ranks("map_cut", "average precision after k documents", kTrec, m::average_precision_at),
    at_ranks("relative_P", "precision relative to the best possible", kTrec, m::relative_precision),
    at_ranks("success", "1 if a relevant document is among the first k", kTrec, m::success, {1, 5, 10}),
    {"set_P", "precision of the set", kTrec, m::set_precision},
    {"set_relative_P", "precision of the set relative to the best possible", kTrec,
     m::set_relative_precision},
    {"set_recall", "recall of the set", kTrec, m::set_recall},
    {"set_map", "precision x recall of the set", kTrec, m::set_map},
    {"set_F", "F measure of the set", kTrec, m::set_f, Takes::weights, {1}},
    count("num_nonrel_judged_ret", "judged documents retrieved that are not relevant",
          m::judged_nonrelevant_retrieved),
    {"yaap", "log odds of the smoothed average precision", "Robertson 2012", m::smoothed_log_odds},
    {"rbp", "rank-biased precision, p=0.9", "Moffat, Zobel 2008", m::rank_biased_precision, Takes::pairs},
    {"rbp_resid", "rank-biased precision's residual", "Moffat, Zobel 2008", m::rank_biased_residual,
     Takes::pairs},
    at_ranks("unj", "share of the first k without judgment", kTrec, m::unjudged, {5, 10, 20}),
    at_ranks("top", "share of queries whose best relevant document is among the first k", kPaper, m::success,
             {1, 2, 5, 10, 20, 30}),
    cost(at_ranks("avg_rank", "rank of the best relevant document, capped", kPaper, m::average_rank, {31})),
    cost({"ranking_loss", "crucial pairs in wrong order, ties 1/2 (eq. 21)", kPaper, m::ranking_loss}),
    averaged(
        Average::mean_of_documents,
        cost({"average_rank_loss", "mean of |score - grade| over all documents: scores are predicted grades",
              "Crammer, Singer 2002; Harrington 2003", m::average_rank_loss})),
    {"expected_ap", "average precision of the best grade, in expectation over ties", kPaper,
     m::expected_average_precision},
    {"prot", "predicted rank of top, in expectation over ties", kPaper, m::expected_rank_of_top},
    {"coverage", "precision at the last good document, in expectation over ties", kPaper,
     m::expected_coverage},
    averaged(Average::mean_of_all_judged,
             {"map_all", "average precision over all judged queries", kPaper, m::average_precision}),
    at_ranks("ndcg_burges", "gain 2^y-1, discount 1, then log2(position)", "Burges et al. 2005",
             m::ndcg_burges, {10}),
    {"mean_ndcg_burges", "mean of ndcg_burges over all positions", "LETOR", m::mean_ndcg_burges},
    {"mean_ndcg", "MeanNDCG of LETOR 4.0", "LETOR 4.0", m::mean_ndcg},
    at_ranks("err", "expected reciprocal rank", "Chapelle et al. 2009", m::expected_reciprocal_rank, {20}),
    at_ranks("judged", "share of the first k that is judged", "ours", m::judged, {10}),
};

}  // namespace

std::span<const Measure> all_measures() {
  return kMeasures;
}

}  // namespace metafuse::evaluation
