#include "fusion/learners/rankboost/loss_and_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <utility>

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kLossScale = 0x1p60;

/// Scores tie within the larger of their reaches.
double tie_reach(double score) {
  return 1e-12 * std::max(1.0, std::abs(score));
}

/// Counts, for every document of one query, the documents of lower classes that stand above it or beside it.
class QueryLoss {
 public:
  QueryLoss(const Feedback& feedback, std::span<const double> scores)
      : feedback_(feedback), scores_(scores) {}

  /// in: rows - those of the query with feedback, ascending by score
  double of(const QueryFeedback& query, std::span<const std::uint32_t> rows) {
    const std::size_t classes = query.classes;
    const std::size_t count = rows.size();
    misorders_.assign(classes * classes, 0.0);
    // below[c]: documents of class c that stand clearly below the current one; within[c]: not clearly
    // above it.
    below_.assign(classes, 0.0);
    within_.assign(classes, 0.0);
    members_.assign(classes, 0.0);
    places_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double score = scores_[rows[i]];
      places_[i] = {score, tie_reach(score), feedback_.classes[rows[i]]};
      members_[places_[i].grade] += 1.0;
    }
    const auto is_clear = [](const Place& low, const Place& high) {
      return high.score - low.score > std::max(low.reach, high.reach);
    };
    std::size_t first_tied = 0;
    std::size_t first_above = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Place& place = places_[i];
      while (first_tied < i && is_clear(places_[first_tied], place))
        below_[places_[first_tied++].grade] += 1.0;
      while (first_above < count && (first_above <= i || !is_clear(place, places_[first_above])))
        within_[places_[first_above++].grade] += 1.0;
      for (std::size_t lower = 0; lower < place.grade; ++lower)
        misorders_[lower * classes + place.grade] +=
            members_[lower] - within_[lower] + 0.5 * (within_[lower] - below_[lower]);
    }
    double loss = 0.0;
    for (std::size_t at = 0; at < misorders_.size(); ++at)
      loss += misorders_[at] * feedback_.weights[query.table + at];
    return loss + pair_loss(query);
  }

 private:
  struct Place {
    double score = 0.0;
    double reach = 0.0;
    std::size_t grade = 0;  ///< its class
  };

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
  std::vector<Place> places_;
  std::vector<double> misorders_, below_, within_, members_;
};

void append_rows(const Feedback& feedback, const QueryFeedback& query, std::vector<std::uint32_t>& rows) {
  for (std::size_t row = query.begin; row < query.end; ++row)
    if (feedback.classes[row] != Feedback::kNone) rows.push_back(static_cast<std::uint32_t>(row));
}

void sort_by_score(std::span<std::uint32_t> rows, std::span<const double> scores) {
  std::sort(rows.begin(), rows.end(),
            [&](std::uint32_t a, std::uint32_t b) { return scores[a] < scores[b]; });
}

}  // namespace

bool is_tie(double a, double b) {
  return std::abs(a - b) <= std::max(tie_reach(a), tie_reach(b));
}

double ranking_loss(const Feedback& feedback, std::span<const double> scores, Communicator* communicator) {
  return GrowingLoss(feedback, {scores.begin(), scores.end()}).value(communicator);
}

GrowingLoss::GrowingLoss(const Feedback& feedback, std::vector<double> scores)
    : feedback_(feedback), scores_(std::move(scores)) {
  rows_.reserve(feedback.used_documents);
  for (const QueryFeedback& query : feedback.queries) {
    starts_.push_back(rows_.size());
    append_rows(feedback, query, rows_);
    sort_by_score(std::span(rows_).subspan(starts_.back()), scores_);
  }
  starts_.push_back(rows_.size());
}

void GrowingLoss::add(const CodedRanking& ranking, double alpha) {
  const bool is_step = std::all_of(ranking.values.begin(), ranking.values.end(),
                                   [](double value) { return value == 0.0 || value == 1.0; });
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    const QueryFeedback& query = feedback_.queries[i];
    if (query.pairs_begin < query.pairs_end)  // whose documents need no grade
      for (std::size_t row = query.begin; row < query.end; ++row)
        if (feedback_.classes[row] == Feedback::kNone) scores_[row] += alpha * ranking(row);
    const std::span rows = std::span(rows_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
    if (is_step) {
      merge(rows, ranking, alpha);
      continue;
    }
    for (const std::uint32_t row : rows) scores_[row] += alpha * ranking(row);
    sort_by_score(rows, scores_);
  }
}

void GrowingLoss::merge(std::span<std::uint32_t> rows, const CodedRanking& ranking, double alpha) {
  low_.resize(rows.size() + 1);
  high_.resize(rows.size() + 1);
  std::size_t lows = 0;
  std::size_t highs = 0;
  for (const std::uint32_t row : rows) {  // without a branch on h, which nobody can foresee
    const bool is_high = ranking(row) > 0.0;
    low_[lows] = {scores_[row], row};
    high_[highs] = {scores_[row] + alpha, row};
    lows += is_high ? 0 : 1;
    highs += is_high ? 1 : 0;
  }
  if (highs == 0) return;
  for (std::size_t i = 0; i < highs; ++i) scores_[high_[i].row] = high_[i].score;
  // each ends with what stands above all others, so that neither runs out first
  low_[lows].score = high_[highs].score = std::numeric_limits<double>::infinity();
  const Ranked* low = low_.data();
  const Ranked* high = high_.data();
  for (std::uint32_t& row : rows) {
    const bool is_low = low->score <= high->score;
    row = is_low ? low->row : high->row;
    low += is_low ? 1 : 0;
    high += is_low ? 0 : 1;
  }
}

double GrowingLoss::value(Communicator* communicator) const {
  QueryLoss loss(feedback_, scores_);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < feedback_.queries.size(); ++i) {
    const std::span rows = std::span(rows_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
    total += std::llrint(loss.of(feedback_.queries[i], rows) * kLossScale);
  }
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
