#pragma once

// What a model was learned from beside what people judged in its own domain, in short.

#include <cstddef>
#include <string>

#include "core/json.h"

namespace metafuse::fusion {

/// A language model whose grades were learned from.
struct LearnedJudge {
  std::string model;
  double weight = 1.0;  ///< of a query that only it judged, in relation to people's queries
  bool is_only = false;
  bool is_calibrated = false;
  std::size_t queries = 0;     ///< that only it judged
  std::size_t answerable = 0;  ///< of them, those with a relevant document in a list
};

/// Writes the judge into a model's "training" record, if it judged any query, and takes those that only it
/// judged out of the number of judged queries, by which models count among others.
void note_judge(const LearnedJudge& judge, JsonObject& training);

/// What a model was learned from: {"judged_queries"} if its record says, with "other_domains":
/// {"start": number of their models it started from, "pooled_queries", "weight"} and "judge":
/// {"model","weight","only","calibrated","queries"} as far as there are such. It names no other domain.
///
/// in: training - the "training" record of a model, of a file, which may say anything
JsonObject learned_from(const JsonObject& training);

/// What it was learned from beside its own domain's people, in words: "the models of 2 other domains, 54
/// judged queries of other domains (at a weight of 0.05)". Empty if nothing.
std::string learned_from_text(const JsonObject& training);

}  // namespace metafuse::fusion
