#include "fusion/learners/online/prank_bank.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/contract.h"
#include "core/random.h"

namespace metafuse::fusion::online {

namespace {

/// The number of examples that a thread takes at a time: few enough that short rows stay in the first-level
/// cache together with a PRank's weights, and enough long rows to make fetching the weights worthwhile.
std::size_t block_size(std::size_t stride) {
  constexpr std::size_t kFirstCache = 2'048;
  constexpr std::size_t kCached = 16'384;
  constexpr std::size_t kLeast = 8;
  return std::clamp<std::size_t>(std::max(kFirstCache / stride, std::min(kLeast, kCached / stride)), 1, 256);
}

}  // namespace

/// Integer sums over the PRanks of one thread, one row per example of the block.
struct PrankBank::Tally {
  Tally(std::size_t examples, std::size_t cuts)
      : moves(examples),
        cut_moves(examples * cuts),
        votes(examples),
        right(examples),
        right_votes(examples) {}

  void add(const Tally& other) {
    const auto plus = [](std::vector<std::int64_t>& into, const std::vector<std::int64_t>& from) {
      for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    };
    plus(moves, other.moves);
    plus(cut_moves, other.cut_moves);
    plus(votes, other.votes);
    plus(right, other.right);
    plus(right_votes, other.right_votes);
  }

  std::vector<std::int64_t> moves;        // sum of the PRanks' steps along the instance
  std::vector<std::int64_t> cut_moves;    // sums of the moves of their thresholds
  std::vector<std::int64_t> votes;        // sum of predicted ranks
  std::vector<std::int64_t> right;        // sum of correct counts before the example
  std::vector<std::int64_t> right_votes;  // predicted ranks weighted by them
};

PrankBank::PrankBank(std::size_t rankers, std::size_t dimensions, int ranks, double tau, std::uint64_t seed,
                     const StepOptions& step)
    : rankers_(rankers),
      dimensions_(dimensions),
      stride_(padded(dimensions)),
      ranks_(ranks),
      tau_(tau),
      seed_(seed),
      step_(step) {
  require(rankers >= 1 && ranks >= 2, "a bank needs a PRank and two ranks");
  require(tau > 0.0 && tau <= 1.0, "tau is a probability above 0");
  weights_.assign(rankers_ * stride_, 0.0);
  thresholds_.assign(rankers_ * cuts(), 0.0);
  weight_sums_.assign(stride_, 0.0);
  threshold_sums_.assign(cuts(), 0.0);
  correct_.assign(rankers_, 0);
  if (step_.rule != StepRule::perceptron) slack_squares_.assign(rankers_, 0.0);
}

void PrankBank::draw(std::uint64_t step, std::uint8_t* is_shown) const {
  if (tau_ >= 1.0) {
    std::fill_n(is_shown, rankers_, std::uint8_t{1});
    return;
  }
  // Seeded by the number of the step, so that a resumed stream makes the same draws as an uninterrupted one.
  Random random = Random(seed_).split(step);
  const auto bound = static_cast<std::uint64_t>(std::ceil(tau_ * 0x1.0p53));
  for (std::size_t j = 0; j < rankers_; ++j) is_shown[j] = random.next() >> 11 < bound ? 1 : 0;
}

int PrankBank::move_cuts(std::size_t ranker, double score, int rank, std::int64_t* cut_moves) {
  double* cut = thresholds_.data() + ranker * cuts();
  int move = 0;
  for (int r = 1; r < ranks_; ++r) {
    const int label = rank <= r ? -1 : 1;
    if ((score - cut[r - 1]) * label > 0.0) continue;
    move += label;
    cut[r - 1] -= label;
    cut_moves[r - 1] -= label;
  }
  return move;
}

void PrankBank::learn_rankers(const BankBlock& block, std::span<const std::uint8_t> shown, bool wants_votes,
                              std::size_t begin, std::size_t end, Tally& tally) {
  for (std::size_t j = begin; j < end; ++j) {
    double* weights = weights_.data() + j * stride_;
    // A step along an instance is applied in the next pass that reads the weights.
    const double* waiting = nullptr;
    double step = 0.0;
    for (std::size_t t = 0; t < block.ranks.size(); ++t) {
      const bool is_shown = shown[t * rankers_ + j] != 0;
      if (!is_shown && !wants_votes) continue;
      const double* row = block.rows + t * stride_;
      const double score = waiting == nullptr ? padded_dot(weights, row, stride_)
                                              : add_row_and_dot(weights, step, waiting, row, stride_);
      waiting = nullptr;
      const int predicted = rank_of(score, thresholds(j));
      if (wants_votes) {
        const auto right = static_cast<std::int64_t>(correct_[j]);
        tally.votes[t] += predicted;
        tally.right[t] += right;
        tally.right_votes[t] += right * predicted;
      }
      // Only one branch, rarely taken, depends on the score, since a mispredicted one would have to wait for
      // the whole sum.
      const bool is_right = predicted == block.ranks[t];
      correct_[j] += is_shown && is_right ? 1 : 0;
      if (is_right || !is_shown) continue;
      const int move = move_cuts(j, score, block.ranks[t], &tally.cut_moves[t * cuts()]);
      tally.moves[t] += move;
      waiting = row;
      step = move;
    }
    if (waiting != nullptr) add_row(weights, step, waiting, stride_);
  }
}

BankPrediction PrankBank::point_prediction(const double* row) const {
  const double sum = padded_dot(weight_sums_.data(), row, stride_);
  BankPrediction prediction;
  prediction.score = sum / static_cast<double>(rankers_);
  prediction.point = rank_of(sum, threshold_sums_);
  return prediction;
}

void PrankBank::learn_block(const BankBlock& block, bool wants_votes, unsigned threads,
                            std::span<BankPrediction> predictions) {
  const std::size_t examples = block.ranks.size();
  std::vector<std::uint8_t> shown(examples * rankers_);
  for (std::size_t t = 0; t < examples; ++t) draw(block.first_step + t, &shown[t * rankers_]);
  const std::size_t parts = std::min<std::size_t>(std::max(threads, 1U), rankers_);
  std::vector<Tally> tallies(parts, Tally(examples, cuts()));
  const auto work = [&](std::size_t part) {
    learn_rankers(block, shown, wants_votes, rankers_ * part / parts, rankers_ * (part + 1) / parts,
                  tallies[part]);
  };
  std::vector<std::jthread> others;
  for (std::size_t part = 1; part < parts; ++part) others.emplace_back(work, part);
  work(0);
  others.clear();
  Tally& total = tallies[0];
  for (std::size_t part = 1; part < parts; ++part) total.add(tallies[part]);

  for (std::size_t t = 0; t < examples; ++t) {
    const double* row = block.rows + t * stride_;
    predictions[t] = point_prediction(row);
    if (wants_votes) {
      const double mean = static_cast<double>(total.votes[t]) / static_cast<double>(rankers_);
      predictions[t].bagged = mean;
      predictions[t].voted = total.right[t] == 0 ? mean
                                                 : static_cast<double>(total.right_votes[t]) /
                                                       static_cast<double>(total.right[t]);
    }
    const auto move = static_cast<double>(total.moves[t]);
    if (total.moves[t] != 0) add_row(weight_sums_.data(), move, row, stride_);
    for (std::size_t r = 0; r < cuts(); ++r)
      threshold_sums_[r] += static_cast<double>(total.cut_moves[t * cuts() + r]);
  }
}

void PrankBank::learn(const BankBlock& block, bool wants_votes, unsigned threads,
                      std::span<BankPrediction> predictions) {
  require(predictions.size() == block.ranks.size(), "one prediction an example");
  if (step_.rule != StepRule::perceptron) return learn_romma(block, wants_votes, predictions);
  const std::size_t most = block_size(stride_);
  for (std::size_t begin = 0; begin < block.ranks.size(); begin += most) {
    const std::size_t count = std::min(most, block.ranks.size() - begin);
    const BankBlock part{block.rows + begin * stride_, block.ranks.subspan(begin, count),
                         block.first_step + begin};
    learn_block(part, wants_votes, threads, predictions.subspan(begin, count));
  }
}

/// Returns whether the PRank moved.
bool PrankBank::learn_romma(std::size_t ranker, const double* row, double square, int rank) {
  double* weights = weights_.data() + ranker * stride_;
  const std::span<double> cuts_of_ranker(thresholds_.data() + ranker * cuts(), cuts());
  RommaExample example{padded_dot(weights, row, stride_), square, slack_squares_[ranker], rank};
  const bool is_right = rank_of(example.score, cuts_of_ranker) == rank;
  correct_[ranker] += is_right ? 1 : 0;
  if (is_right && (step_.rule == StepRule::romma || !is_within_margin(example.score, cuts_of_ranker, rank)))
    return false;
  example.rule_square += padded_dot(weights, weights, stride_);
  for (const double cut : cuts_of_ranker) example.rule_square += cut * cut;
  const auto step = romma_step(example, cuts_of_ranker);
  if (!step) return false;
  scale_and_add_row(weights, step->scale, step->step, row, weight_sums_.data(), stride_);
  double& slack = slack_squares_[ranker];
  slack = step->scale * step->scale * slack + step_.slack * step->step * step->step;
  return true;
}

void PrankBank::learn_romma(const BankBlock& block, bool wants_votes, std::span<BankPrediction> predictions) {
  std::vector<std::uint8_t> shown(rankers_);
  for (std::size_t t = 0; t < block.ranks.size(); ++t) {
    const double* row = block.rows + t * stride_;
    draw(block.first_step + t, shown.data());
    predictions[t] = predict(row, wants_votes);
    const double square = padded_dot(row, row, stride_) + step_.slack;
    bool has_moved = false;
    for (std::size_t j = 0; j < rankers_; ++j)
      if (shown[j] != 0 && learn_romma(j, row, square, block.ranks[t])) has_moved = true;
    if (has_moved) add_up_thresholds();
  }
}

void PrankBank::add_up_thresholds() {
  std::fill(threshold_sums_.begin(), threshold_sums_.end(), 0.0);
  for (std::size_t i = 0; i < thresholds_.size(); ++i) threshold_sums_[i % cuts()] += thresholds_[i];
}

bool PrankBank::learn_stored(const double* row, int rank, std::uint64_t step, std::size_t slot) {
  require(step_.rule == StepRule::perceptron, "stored examples are learned by the perceptron's steps");
  std::vector<std::uint8_t> shown(rankers_);
  draw(step, shown.data());
  std::vector<int> moves(rankers_, 0);
  std::vector<std::int64_t> cut_moves(cuts(), 0);
  bool has_erred = false;
  for (std::size_t j = 0; j < rankers_; ++j) {
    if (shown[j] == 0) continue;
    const double score = padded_dot(weights_.data() + j * stride_, row, stride_);
    if (rank_of(score, thresholds(j)) == rank) {
      ++correct_[j];
      continue;
    }
    has_erred = true;
    moves[j] = move_cuts(j, score, rank, cut_moves.data());
  }
  if (!has_erred) return false;
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < rankers_; ++j) {
    weights_[j * stride_ + slot] = moves[j];
    sum += moves[j];
  }
  weight_sums_[slot] = static_cast<double>(sum);
  for (std::size_t r = 0; r < cuts(); ++r) threshold_sums_[r] += static_cast<double>(cut_moves[r]);
  return true;
}

BankPrediction PrankBank::predict(const double* row, bool wants_votes) const {
  BankPrediction prediction = point_prediction(row);
  if (!wants_votes) return prediction;
  std::uint64_t votes = 0;
  std::uint64_t right = 0;
  std::uint64_t right_votes = 0;
  for (std::size_t j = 0; j < rankers_; ++j) {
    const auto rank = static_cast<std::uint64_t>(
        rank_of(padded_dot(weights_.data() + j * stride_, row, stride_), thresholds(j)));
    votes += rank;
    right += correct_[j];
    right_votes += correct_[j] * rank;
  }
  prediction.bagged = static_cast<double>(votes) / static_cast<double>(rankers_);
  prediction.voted =
      right == 0 ? prediction.bagged : static_cast<double>(right_votes) / static_cast<double>(right);
  return prediction;
}

void PrankBank::start_from(std::size_t dimension, double weight) {
  require(dimension < dimensions_, "a start needs a dimension of the bank");
  for (std::size_t j = 0; j < rankers_; ++j) weights_[j * stride_ + dimension] += weight;
  weight_sums_[dimension] += weight * static_cast<double>(rankers_);
}

void PrankBank::restore(std::span<const double> weights, std::span<const double> thresholds,
                        std::span<const double> weight_sums, std::span<const std::uint64_t> correct,
                        std::span<const double> slack_squares) {
  require(weights.size() == rankers_ * dimensions_ && thresholds.size() == thresholds_.size() &&
              weight_sums.size() == dimensions_ && correct.size() == rankers_ &&
              slack_squares.size() == slack_squares_.size(),
          "a bank is restored from one of its own sizes");
  for (std::size_t j = 0; j < rankers_; ++j)
    std::copy_n(weights.data() + j * dimensions_, dimensions_, weights_.data() + j * stride_);
  thresholds_.assign(thresholds.begin(), thresholds.end());
  std::copy(weight_sums.begin(), weight_sums.end(), weight_sums_.begin());
  correct_.assign(correct.begin(), correct.end());
  slack_squares_.assign(slack_squares.begin(), slack_squares.end());
  add_up_thresholds();
}

}  // namespace metafuse::fusion::online
