#include "fusion/learners/rankboost/loss_and_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "core/json_members.h"
#include "fusion/learners/rankboost/kernels.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kLossScale = 0x1p60;

/// Counts, for each document of a query, the documents of lower classes that stand above it or tie with it.
class QueryLoss {
 public:
  QueryLoss(const Feedback& feedback, std::span<const double> scores)
      : feedback_(feedback), scores_(scores) {}

  /// in: rows - the query's documents in feedback, ascending by score
  double of(const QueryFeedback& query, std::span<const std::uint32_t> rows) {
    const std::size_t classes = query.classes;
    const std::size_t count = rows.size();
    misorders_.assign(classes * classes, 0.0);
    // below[c]: the documents of class c that stand clearly below the current one; within[c]: those that do
    // not stand clearly above it.
    below_.assign(classes, 0.0);
    within_.assign(classes, 0.0);
    const auto members = feedback_.members_of(query);
    members_.assign(members.begin(), members.end());
    places_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double score = scores_[rows[i]];
      places_[i] = {score, tie_reach(score), feedback_.classes[rows[i]]};
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

/// The number of entries that a class takes up, padded, where pairs are compared.
std::size_t places_of(std::size_t members) {
  return (members + 3) / 4 * 4;
}

/// Whether comparing pairs is cheaper than merging and does not take much more memory.
/// in: members - number of documents per class
bool are_pairs_few(const QueryFeedback& query, std::span<const std::size_t> members) {
  constexpr std::size_t kPairsPerDocument = 96;
  std::size_t documents = 0;
  std::size_t places = 0;
  std::size_t pairs = 0;
  for (const std::size_t count : members) {
    pairs += documents * count;
    documents += count;
    places += places_of(count);
  }
  return query.pairs_begin == query.pairs_end && pairs <= kPairsPerDocument * documents &&
         places <= 2 * documents;
}

/// Appends the rows of a query class by class. Padding repeats the query's first row.
void append_by_class(const Feedback& feedback, const QueryFeedback& query,
                     std::span<const std::size_t> members, std::vector<std::uint32_t>& rows) {
  std::vector<std::size_t> next;
  std::size_t end = rows.size();
  for (const std::size_t count : members) {
    next.push_back(end);
    end += places_of(count);
  }
  rows.resize(end, static_cast<std::uint32_t>(query.begin));
  for (std::size_t row = query.begin; row < query.end; ++row)
    if (feedback.classes[row] != Feedback::kNone)
      rows[next[feedback.classes[row]]++] = static_cast<std::uint32_t>(row);
}

/// As QueryLoss::of.
/// in: scores and reaches - class by class; members - number of documents per class
double compared_loss(const QueryFeedback& query, std::span<const double> weights,
                     std::span<const std::size_t> members, const double* scores, const double* reaches) {
  double loss = 0.0;
  std::size_t low = 0;
  for (std::size_t lower = 0; lower < members.size(); ++lower) {
    const ClassScores lower_scores{scores + low, reaches + low, members[lower]};
    low += places_of(members[lower]);
    std::size_t high = low;
    for (std::size_t upper = lower + 1; upper < members.size(); ++upper) {
      const ClassScores upper_scores{scores + high, reaches + high, members[upper]};
      high += places_of(members[upper]);
      loss += 0.5 * static_cast<double>(misordered_halves(lower_scores, upper_scores)) *
              weights[query.table + lower * query.classes + upper];
    }
  }
  return loss;
}

void append_rows(const Feedback& feedback, const QueryFeedback& query, std::vector<std::uint32_t>& rows) {
  for (std::size_t row = query.begin; row < query.end; ++row)
    if (feedback.classes[row] != Feedback::kNone) rows.push_back(static_cast<std::uint32_t>(row));
}

void sort_by_score(std::span<std::uint32_t> rows, std::span<const double> scores) {
  std::sort(rows.begin(), rows.end(),
            [&](std::uint32_t a, std::uint32_t b) { return scores[a] < scores[b]; });
}

constexpr double kDelta = 0.05;

}  // namespace

bool is_tie(double a, double b) {
  return std::abs(a - b) <= std::max(tie_reach(a), tie_reach(b));
}

double ranking_loss(const Feedback& feedback, std::span<const double> scores, Communicator* communicator) {
  return GrowingLoss(feedback, {scores.begin(), scores.end()}).value(communicator);
}

GrowingLoss::GrowingLoss(const Feedback& feedback, std::vector<double> scores)
    : feedback_(feedback), scores_(std::move(scores)) {
  rows_.reserve(static_cast<std::size_t>(feedback.used_documents));
  for (const QueryFeedback& query : feedback.queries) {
    starts_.push_back(rows_.size());
    const auto members = feedback.members_of(query);
    is_compared_.push_back(are_pairs_few(query, members) ? 1 : 0);
    if (is_compared_.back() != 0) {
      append_by_class(feedback, query, members, rows_);
      continue;
    }
    append_rows(feedback, query, rows_);
    sort_by_score(std::span(rows_).subspan(starts_.back()), scores_);
  }
  starts_.push_back(rows_.size());
  if (std::find(is_compared_.begin(), is_compared_.end(), 1) != is_compared_.end()) fill_places();
}

void GrowingLoss::fill_places() {
  place_scores_.assign(rows_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < feedback_.queries.size(); ++i) {
    if (is_compared_[i] == 0) continue;
    std::size_t place = starts_[i];
    for (const std::size_t count : feedback_.members_of(feedback_.queries[i])) {
      for (std::size_t k = 0; k < count; ++k) place_scores_[place + k] = scores_[rows_[place + k]];
      place += places_of(count);
    }
  }
}

void GrowingLoss::add_to_places(std::size_t begin, std::size_t end, const CodedRanking& ranking,
                                std::span<const double> steps) {
  if (!ranking.features->is_byte(ranking.feature)) {
    for (std::size_t i = begin; i < end; ++i)
      place_scores_[i] += steps[ranking.features->code(rows_[i], ranking.feature)];
    return;
  }
  const std::uint8_t* codes = ranking.features->bytes(ranking.feature);
  for (std::size_t i = begin; i < end; ++i) place_scores_[i] += steps[codes[rows_[i]]];
}

void GrowingLoss::add(const CodedRanking& ranking, double alpha) {
  const bool is_step = std::all_of(ranking.values.begin(), ranking.values.end(),
                                   [](double value) { return value == 0.0 || value == 1.0; });
  std::vector<double> steps = ranking.values;
  for (double& step : steps) step *= alpha;
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    if (is_compared_[i] != 0) {
      add_to_places(starts_[i], starts_[i + 1], ranking, steps);
      continue;
    }
    const QueryFeedback& query = feedback_.queries[i];
    // General pairs may also contain documents without a grade class.
    if (query.pairs_begin < query.pairs_end)
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
  for (const std::uint32_t row : rows) {  // without a branch on h, which would be mispredicted
    const bool is_high = ranking(row) > 0.0;
    low_[lows] = {scores_[row], row};
    high_[highs] = {scores_[row] + alpha, row};
    lows += is_high ? 0 : 1;
    highs += is_high ? 1 : 0;
  }
  if (highs == 0) return;
  for (std::size_t i = 0; i < highs; ++i) scores_[high_[i].row] = high_[i].score;
  // Each half ends with an infinite score, so that neither runs out first.
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
  std::vector<double> reaches;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < feedback_.queries.size(); ++i) {
    const QueryFeedback& query = feedback_.queries[i];
    const std::size_t count = starts_[i + 1] - starts_[i];
    double lost = 0.0;
    if (is_compared_[i] == 0) {
      lost = loss.of(query, std::span(rows_).subspan(starts_[i], count));
    } else {
      const double* scores = place_scores_.data() + starts_[i];
      reaches.resize(std::max(reaches.size(), count));
      set_tie_reaches(scores, reaches.data(), count);
      lost = compared_loss(query, feedback_.weights, feedback_.members_of(query), scores, reaches.data());
    }
    total += std::llrint(lost * kLossScale);
  }
  return static_cast<double>(sum_over_processes(communicator, total)) / kLossScale;
}

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
  const JsonMembers record(training);
  const JsonMembers single = record.inner("single_bipartite");
  if (!single.is_object()) return {};  // as usual: feedback is a sum over queries
  if (record.inner("options").text_or_empty("weak_ranking") == "value")
    return "theorem 3 (Freund et al. 2003) does not apply: the weak rankings are not {0, 1}-valued\n";
  const auto below = count_of(single.number_or("below"));
  const auto above = count_of(single.number_or("above"));
  const auto rounds = count_of(record.number_or("rounds"));
  const double documents = static_cast<double>(below + above);
  const double d =
      std::max(2.0, std::floor(std::log2(2.0 * static_cast<double>(features) * (documents + 1.0))));
  const double bound = generalisation_bound(d, rounds, below, above, kDelta);
  return fmt::format(
      "theorem 3 (Freund et al. 2003): |training error - true error| <= {:.4g}{} (d {:.0f}, m {}, n {}, "
      "delta "
      "{:.2g})\n",
      bound, bound >= 1.0 ? ", vacuous" : "", d, below, above, kDelta);
}

}  // namespace metafuse::fusion::rankboost
