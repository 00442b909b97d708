#include "fusion/learners/rankboost/loss_and_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <vector>

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kLossScale = 0x1p60;

/// Counts, for every document of one query, the documents of lower classes that stand above it or beside it.
class QueryLoss {
 public:
  QueryLoss(const Feedback& feedback, std::span<const double> scores)
      : feedback_(feedback), scores_(scores) {}

  double of(const QueryFeedback& query) {
    sort_rows(query);
    misorders_.assign(std::size_t{query.classes} * query.classes, 0.0);
    const std::size_t count = rows_.size();
    // below[c]: documents of class c that stand clearly below the current one; within[c]: not clearly
    // above it.
    std::vector<double> below(query.classes, 0.0);
    std::vector<double> within(query.classes, 0.0);
    std::vector<double> members(query.classes, 0.0);
    for (const std::uint32_t row : rows_) members[feedback_.classes[row]] += 1.0;
    std::size_t first_tied = 0;
    std::size_t first_above = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double score = scores_[rows_[i]];
      while (first_tied < i && !is_tie(scores_[rows_[first_tied]], score))
        below[feedback_.classes[rows_[first_tied++]]] += 1.0;
      while (first_above < count && (first_above <= i || is_tie(scores_[rows_[first_above]], score)))
        within[feedback_.classes[rows_[first_above++]]] += 1.0;
      const std::size_t upper = feedback_.classes[rows_[i]];
      for (std::size_t lower = 0; lower < upper; ++lower)
        misorders_[lower * query.classes + upper] +=
            members[lower] - within[lower] + 0.5 * (within[lower] - below[lower]);
    }
    double loss = 0.0;
    for (std::size_t at = 0; at < misorders_.size(); ++at)
      loss += misorders_[at] * feedback_.weights[query.table + at];
    return loss + pair_loss(query);
  }

 private:
  void sort_rows(const QueryFeedback& query) {
    rows_.clear();
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback_.classes[row] != Feedback::kNone) rows_.push_back(static_cast<std::uint32_t>(row));
    std::sort(rows_.begin(), rows_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return scores_[a] < scores_[b]; });
  }

  double pair_loss(const QueryFeedback& query) const {
    double loss = 0.0;
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const WeightedPair& pair = feedback_.pairs[i];
      if (is_tie(scores_[pair.above], scores_[pair.below]))
        loss += 0.5 * pair.weight;
      else if (scores_[pair.above] < scores_[pair.below])
        loss += pair.weight;
    }
    return loss;
  }

  const Feedback& feedback_;
  std::span<const double> scores_;
  std::vector<std::uint32_t> rows_;
  std::vector<double> misorders_;
};

}  // namespace

bool is_tie(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)});
}

double ranking_loss(const Feedback& feedback, std::span<const double> scores, Communicator* communicator) {
  QueryLoss loss(feedback, scores);
  std::int64_t total = 0;
  for (const QueryFeedback& query : feedback.queries) total += std::llrint(loss.of(query) * kLossScale);
  return static_cast<double>(sum_over_processes(communicator, total)) / kLossScale;
}

namespace {

constexpr double kDelta = 0.05;

double count_at(const JsonObject& object, const char* key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0.0;
}

bool is_value_ranking(const JsonObject& training) {
  const Json* options = training.if_contains("options");
  const Json* form = options != nullptr && options->is_object()
                         ? options->get_object().if_contains("weak_ranking")
                         : nullptr;
  return form != nullptr && form->is_string() && form->get_string() == "value";
}

}  // namespace

double generalisation_bound(double d, std::uint64_t rounds, std::uint64_t m, std::uint64_t n, double delta) {
  const double t = static_cast<double>(rounds) + 1.0;
  const double dimension = 2.0 * (d + 1.0) * t * std::log2(std::numbers::e * t);
  const auto part = [&](double sample) {
    const double inside = dimension * (std::log(2.0 * sample / dimension) + 1.0) + std::log(18.0 / delta);
    // With fewer documents than the dimension the logarithm is negative and the bound is vacuous.
    return 2.0 * sample < dimension ? 1.0 : 2.0 * std::sqrt(inside / sample);
  };
  return part(static_cast<double>(m)) + part(static_cast<double>(n));
}

std::string generalisation_text(const JsonObject& training, std::uint64_t features) {
  if (!training.contains("crucial_pairs")) return {};
  const Json* single = training.if_contains("single_bipartite");
  if (single == nullptr || !single->is_object())
    return "theorem 3 does not apply: feedback is a sum over queries\n";
  if (is_value_ranking(training))
    return "theorem 3 does not apply: the weak rankings are not {0, 1}-valued\n";
  const auto below = static_cast<std::uint64_t>(count_at(single->get_object(), "below"));
  const auto above = static_cast<std::uint64_t>(count_at(single->get_object(), "above"));
  const auto rounds = static_cast<std::uint64_t>(count_at(training, "rounds"));
  const double documents = static_cast<double>(below + above);
  const double d =
      std::max(2.0, std::floor(std::log2(2.0 * static_cast<double>(features) * (documents + 1.0))));
  const double bound = generalisation_bound(d, rounds, below, above, kDelta);
  char text[200];
  std::snprintf(text, sizeof text,
                "theorem 3: |training error - true error| <= %.4g%s (d %.0f, m %llu, n %llu, delta %.2g)\n",
                bound, bound >= 1.0 ? ", vacuous" : "", d, static_cast<unsigned long long>(below),
                static_cast<unsigned long long>(above), kDelta);
  return text;
}

}  // namespace metafuse::fusion::rankboost
