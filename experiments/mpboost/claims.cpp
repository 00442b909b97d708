#include "experiments/mpboost/claims.h"

#include <algorithm>

#include "experiments/interval.h"

namespace metafuse::experiments::mpboost {
namespace {

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + fixed(value, 4);
  return text;
}

std::size_t wins(const std::vector<double>& a, const std::vector<double>& b) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < kDepth; ++k) count += a[k] > b[k] ? 1U : 0U;
  return count;
}

void claim_beats(const Outcome& outcome, std::size_t form, const std::string& rival,
                 const std::vector<double>& other, PaperReport& report) {
  const std::size_t count = wins(outcome.mean_ndcg(form), other);
  report.claims.push_back(judged(outcome.name + ": " + form_name(form) + " beats " + rival + " at NDCG@1..10",
                                 count == kDepth, "at " + std::to_string(count) + " of 10"));
}

/// How far a test curve falls from its highest point to its end.
double fall_of(const std::vector<double>& curve) {
  return *std::max_element(curve.begin(), curve.end()) - curve.back();
}

}  // namespace

void claims_of_ohsumed(const Outcome& outcome, const PublishedNdcg& published, PaperReport& report) {
  for (std::size_t form = 2; form < kForms; ++form)
    claim_beats(outcome, form, "MPBoost.BINARY", outcome.mean_ndcg(1), report);
  for (const auto& [name, ndcg] : published)
    if (name == "RankBoost" || name == "ListNet" || name == "AdaRank-NDCG")
      for (std::size_t form = 2; form < kForms; ++form)
        claim_beats(outcome, form, "the published " + name, ndcg, report);
  std::size_t best = 0;
  for (std::size_t k = 0; k < kDepth; ++k) {
    bool is_best = true;
    for (std::size_t form = 0; form + 1 < kForms; ++form)
      is_best = is_best && outcome.mean_ndcg(kForms - 1)[k] >= outcome.mean_ndcg(form)[k];
    for (const auto& [name, ndcg] : published)
      if (name == "RankBoost" || name == "ListNet" || name == "AdaRank-NDCG")
        is_best = is_best && outcome.mean_ndcg(kForms - 1)[k] >= ndcg[k];
    best += is_best ? 1U : 0U;
  }
  report.claims.push_back(judged(outcome.name + ": MPBoost.LOGITDD is the best of all at NDCG@1..10",
                                 best == kDepth, "at " + std::to_string(best) + " of 10"));
  const std::size_t binary = wins(outcome.mean_ndcg(1), outcome.mean_ndcg(0));
  report.claims.push_back(
      judged(outcome.name + ": MPBoost.BINARY beats RankBoost but at NDCG@6 and @7", binary >= 8,
             "at " + std::to_string(binary) + " of 10 against RankBoost as trained here"));
}

void claims_of_web(const Outcome& outcome, PaperReport& report) {
  for (std::size_t form = 2; form < kForms; ++form)
    claim_beats(outcome, form, "MPBoost.BINARY", outcome.mean_ndcg(1), report);
  std::vector<double> falls;
  for (std::size_t form = 1; form < kForms; ++form) falls.push_back(fall_of(outcome.mean_curve(form)));
  report.claims.push_back(
      judged(outcome.name + ": binary labels overfit, the distances do not (fall of test NDCG@5 from "
                            "its highest to the last round)",
             falls[0] > *std::max_element(falls.begin() + 1, falls.end()),
             "binary, LDD, LOGDD, LOGITDD: " + list_of(falls)));
}

}  // namespace metafuse::experiments::mpboost
