#include "evaluation/measures/all.h"

// The table of measures, one row per measure; measure.h describes its fields.
namespace metafuse::evaluation {
namespace {

using Takes = Measure::Takes;
using Average = Measure::Average;

const std::vector<double> kRanks = {5, 10, 15, 20, 30, 100, 200, 500, 1000};
const std::vector<double> kRecalls = {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
const std::vector<double> kMultiples = {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0};

constexpr const char* kTrec = "trec_eval";
constexpr const char* kPaper = "Freund, Iyer, Schapire, Singer 2003";

Measure count(const char* name, const char* meaning, decltype(Measure::compute) compute) {
  return {name, meaning, kTrec, Takes::nothing, {}, Average::sum, true, true, false, compute};
}

Measure plain(const char* name, const char* meaning, const char* source, decltype(Measure::compute) compute) {
  return {name, meaning, source, Takes::nothing, {}, Average::mean, false, true, false, compute};
}

Measure at_ranks(const char* name, const char* meaning, const char* source, std::vector<double> defaults,
                 decltype(Measure::compute) compute) {
  return {name, meaning, source, Takes::whole_cutoffs, std::move(defaults), Average::mean, false,
          true, false,   compute};
}

Measure at_points(const char* name, const char* meaning, std::vector<double> defaults,
                  decltype(Measure::compute) compute) {
  return {name,          meaning, kTrec, Takes::cutoffs, std::move(defaults),
          Average::mean, false,   true,  false,          compute};
}

Measure weighted(const char* name, const char* meaning, std::vector<double> defaults,
                 decltype(Measure::compute) compute) {
  return {name,          meaning, kTrec, Takes::weights, std::move(defaults),
          Average::mean, false,   true,  false,          compute};
}

Measure with_gains(const char* name, const char* meaning, const char* source,
                   decltype(Measure::compute) compute) {
  return {name, meaning, source, Takes::pairs, {}, Average::mean, false, true, false, compute};
}

Measure geometric(const char* name, const char* meaning, decltype(Measure::compute) compute) {
  return {name, meaning, kTrec, Takes::nothing, {}, Average::geometric, false, false, false, compute};
}

Measure cost(Measure measure) {
  measure.is_cost = true;
  return measure;
}

std::vector<Measure> trec_measures() {
  namespace m = measures;
  return {
      count("num_ret", "retrieved documents", m::retrieved),
      count("num_rel", "relevant documents", m::relevant),
      count("num_rel_ret", "relevant documents retrieved", m::relevant_retrieved),
      plain("map", "average precision", kTrec, m::average_precision),
      geometric("gm_map", "geometric mean of average precision", m::log_average_precision),
      plain("Rprec", "precision after as many documents as are relevant", kTrec, m::r_precision),
      plain("bpref", "binary preference", "Buckley, Voorhees 2004", m::binary_preference),
      plain("recip_rank", "1 / rank of the first relevant document", kTrec, m::reciprocal_rank),
      at_points("iprec_at_recall", "interpolated precision at recall", kRecalls, m::interpolated_precision),
      at_ranks("P", "precision after k documents", kTrec, kRanks, m::precision),
      {"relstring",
       "the first grades as a string, per query only",
       kTrec,
       Takes::weights,
       {10},
       Average::sum,
       false,
       true,
       false,
       m::nothing},
      at_ranks("recall", "recall after k documents", kTrec, kRanks, m::recall),
      plain("infAP", "inferred average precision", "Yilmaz, Aslam 2006", m::inferred_average_precision),
      geometric("gm_bpref", "geometric mean of bpref", m::log_binary_preference),
      at_points("Rprec_mult", "precision at multiples of the relevant documents", kMultiples,
                m::r_precision_multiples),
      weighted("utility", "weighted sum of the contingency table", {1, -1, 0, 0}, m::utility),
      weighted("11pt_avg", "interpolated precision averaged over recall points", kRecalls,
               m::mean_interpolated_precision),
      plain("binG", "binary G", kTrec, m::binary_gain),
      with_gains("G", "normalised gain", kTrec, m::normalized_gain),
      with_gains("ndcg", "normalised discounted cumulative gain", "Jarvelin, Kekalainen 2002", m::ndcg),
      with_gains("ndcg_rel", "ndcg averaged at relevant documents", kTrec, m::ndcg_rel),
      with_gains("Rndcg", "ndcg averaged where the ideal gain changes", kTrec, m::r_ndcg),
      at_ranks("ndcg_cut", "ndcg after k documents", "Jarvelin, Kekalainen 2002", kRanks, m::ndcg_at),
      at_ranks("map_cut", "average precision after k documents", kTrec, kRanks, m::average_precision_at),
      at_ranks("relative_P", "precision relative to the best possible", kTrec, kRanks, m::relative_precision),
      at_ranks("success", "1 if a relevant document is among the first k", kTrec, {1, 5, 10}, m::success),
      plain("set_P", "precision of the set", kTrec, m::set_precision),
      plain("set_relative_P", "precision of the set relative to the best possible", kTrec,
            m::set_relative_precision),
      plain("set_recall", "recall of the set", kTrec, m::set_recall),
      plain("set_map", "precision x recall of the set", kTrec, m::set_map),
      weighted("set_F", "F measure of the set", {1}, m::set_f),
      count("num_nonrel_judged_ret", "judged documents retrieved that are not relevant",
            m::judged_nonrelevant_retrieved),
      plain("yaap", "log odds of the smoothed average precision", "Robertson 2012", m::smoothed_log_odds),
      with_gains("rbp", "rank-biased precision, p=0.9", "Moffat, Zobel 2008", m::rank_biased_precision),
      with_gains("rbp_resid", "rank-biased precision's residual", "Moffat, Zobel 2008",
                 m::rank_biased_residual),
      at_ranks("unj", "share of the first k without judgment", kTrec, {5, 10, 20}, m::unjudged),
  };
}

std::vector<Measure> own_measures() {
  namespace m = measures;
  std::vector<Measure> rows = {
      at_ranks("top", "share of queries whose best relevant document is among the first k", kPaper,
               {1, 2, 5, 10, 20, 30}, m::success),
      cost(at_ranks("avg_rank", "rank of the best relevant document, capped", kPaper, {31}, m::average_rank)),
      cost(plain("ranking_loss", "crucial pairs in wrong order, ties 1/2 (eq. 21)", kPaper, m::ranking_loss)),
      cost(plain("average_rank_loss",
                 "mean of |score - grade| over all documents: scores are predicted grades",
                 "Crammer, Singer 2002; Harrington 2003", m::average_rank_loss)),
      plain("expected_ap", "average precision of the best grade, in expectation over ties", kPaper,
            m::expected_average_precision),
      plain("prot", "predicted rank of top, in expectation over ties", kPaper, m::expected_rank_of_top),
      plain("coverage", "precision at the last good document, in expectation over ties", kPaper,
            m::expected_coverage),
      plain("map_all", "average precision over all judged queries", kPaper, m::average_precision),
      at_ranks("ndcg_burges", "gain 2^y-1, discount 1, then log2(position)", "Burges et al. 2005", {10},
               m::ndcg_burges),
      plain("mean_ndcg_burges", "mean of ndcg_burges over all positions", "LETOR", m::mean_ndcg_burges),
      plain("mean_ndcg", "MeanNDCG of LETOR 4.0", "LETOR 4.0", m::mean_ndcg),
      at_ranks("err", "expected reciprocal rank", "Chapelle et al. 2009", {20}, m::expected_reciprocal_rank),
      at_ranks("judged", "share of the first k that is judged", "ours", {10}, m::judged),
  };
  for (Measure& row : rows) {
    if (row.name == "map_all") row.average = Average::mean_of_all_judged;
    if (row.name == "average_rank_loss") row.average = Average::mean_of_documents;
  }
  return rows;
}

}  // namespace

std::span<const Measure> all_measures() {
  static const std::vector<Measure> table = [] {
    std::vector<Measure> rows = trec_measures();
    for (Measure& row : own_measures()) rows.push_back(std::move(row));
    return rows;
  }();
  return table;
}

}  // namespace metafuse::evaluation
