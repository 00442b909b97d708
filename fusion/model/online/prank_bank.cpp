#include "fusion/model/online/prank_bank.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/parallel.h"
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

/// The mean weighted by how often each PRank was right; `plain` while none was.
template <class Count>
double mean_by(Count right, Count right_votes, double plain) {
  return right == 0 ? plain : static_cast<double>(right_votes) / static_cast<double>(right);
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
    for (const auto sums :
         {&Tally::moves, &Tally::cut_moves, &Tally::votes, &Tally::right, &Tally::right_votes})
      for (std::size_t i = 0; i < (this->*sums).size(); ++i) (this->*sums)[i] += (other.*sums)[i];
  }

  std::size_t begin = 0;  // the PRanks
  std::size_t end = 0;
  std::vector<std::int64_t> moves;        // sum of the PRanks' steps along the instance
  std::vector<std::int64_t> cut_moves;    // sums of the moves of their thresholds
  std::vector<std::int64_t> votes;        // sum of predicted ranks
  std::vector<std::int64_t> right;        // sum of correct counts before the example
  std::vector<std::int64_t> right_votes;  // predicted ranks weighted by them
};

PrankBank::PrankBank(const BankOptions& options) : options_(options), stride_(padded(options.dimensions)) {
  require(options.rankers >= 1 && options.ranks >= 2, "a bank needs a PRank and two ranks");
  require(options.tau > 0.0 && options.tau <= 1.0, "tau is a probability above 0");
  state_.weights.assign(options.rankers * stride_, 0.0);
  state_.thresholds.assign(options.rankers * cuts(), 0.0);
  state_.weight_sums.assign(stride_, 0.0);
  state_.correct.assign(options.rankers, 0);
  if (options.step.rule != StepRule::perceptron) state_.slack_squares.assign(options.rankers, 0.0);
  threshold_sums_.assign(cuts(), 0.0);
}

void PrankBank::draw(std::uint64_t step, std::uint8_t* is_shown) const {
  if (options_.tau >= 1.0) {
    std::fill_n(is_shown, options_.rankers, std::uint8_t{1});
    return;
  }
  // Seeded by the number of the step, so that a resumed stream makes the same draws as an uninterrupted one.
  Random random = Random(options_.seed).split(step);
  const auto bound = static_cast<std::uint64_t>(std::ceil(options_.tau * 0x1.0p53));
  for (std::size_t j = 0; j < options_.rankers; ++j) is_shown[j] = random.next() >> 11 < bound ? 1 : 0;
}

int PrankBank::move_cuts(std::size_t ranker, double score, int rank, std::int64_t* cut_moves) {
  double* cut = state_.thresholds.data() + ranker * cuts();
  int move = 0;
  for (int r = 1; r < options_.ranks; ++r) {
    const int label = rank <= r ? -1 : 1;
    if ((score - cut[r - 1]) * label > 0.0) continue;
    move += label;
    cut[r - 1] -= label;
    cut_moves[r - 1] -= label;
  }
  return move;
}

void PrankBank::learn_rankers(const BankBlock& block, std::span<const std::uint8_t> shown, Tally& tally) {
  const bool has_votes = options_.has_votes;
  for (std::size_t j = tally.begin; j < tally.end; ++j) {
    double* weights = weights_of(j);
    // A step along an instance is applied in the next pass that reads the weights.
    const double* waiting = nullptr;
    double step = 0.0;
    for (std::size_t t = 0; t < block.ranks.size(); ++t) {
      const bool is_shown = shown[t * options_.rankers + j] != 0;
      if (!is_shown && !has_votes) continue;
      const double* row = block.rows + t * stride_;
      const double score = waiting == nullptr ? padded_dot(weights, row, stride_)
                                              : add_row_and_dot(weights, step, waiting, row, stride_);
      waiting = nullptr;
      const int predicted = rank_of(score, thresholds(j));
      if (has_votes) {
        const auto right = static_cast<std::int64_t>(state_.correct[j]);
        tally.votes[t] += predicted;
        tally.right[t] += right;
        tally.right_votes[t] += right * predicted;
      }
      // Only one branch, rarely taken, depends on the score, since a mispredicted one would have to wait for
      // the whole sum.
      const bool is_right = predicted == block.ranks[t];
      state_.correct[j] += is_shown && is_right ? 1 : 0;
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
  const double sum = padded_dot(state_.weight_sums.data(), row, stride_);
  BankPrediction prediction;
  prediction.score = sum / static_cast<double>(options_.rankers);
  prediction.point = rank_of(sum, threshold_sums_);
  return prediction;
}

void PrankBank::learn_block(const BankBlock& block, unsigned threads, std::span<BankPrediction> predictions) {
  const std::size_t examples = block.ranks.size();
  const std::size_t rankers = options_.rankers;
  std::vector<std::uint8_t> shown(examples * rankers);
  for (std::size_t t = 0; t < examples; ++t) draw(block.first_step + t, &shown[t * rankers]);
  const std::size_t parts = std::min<std::size_t>(std::max(threads, 1U), rankers);
  std::vector<Tally> tallies(parts, Tally(examples, cuts()));
  parallel_for(parts, threads, [&](std::size_t part) {
    tallies[part].begin = rankers * part / parts;
    tallies[part].end = rankers * (part + 1) / parts;
    learn_rankers(block, shown, tallies[part]);
  });
  Tally& total = tallies[0];
  for (std::size_t part = 1; part < parts; ++part) total.add(tallies[part]);

  for (std::size_t t = 0; t < examples; ++t) {
    const double* row = block.rows + t * stride_;
    predictions[t] = point_prediction(row);
    if (options_.has_votes) {
      predictions[t].bagged = static_cast<double>(total.votes[t]) / static_cast<double>(rankers);
      predictions[t].voted = mean_by(total.right[t], total.right_votes[t], predictions[t].bagged);
    }
    const auto move = static_cast<double>(total.moves[t]);
    if (total.moves[t] != 0) add_row(state_.weight_sums.data(), move, row, stride_);
    for (std::size_t r = 0; r < cuts(); ++r)
      threshold_sums_[r] += static_cast<double>(total.cut_moves[t * cuts() + r]);
  }
}

void PrankBank::learn(const BankBlock& block, unsigned threads, std::span<BankPrediction> predictions) {
  require(predictions.size() == block.ranks.size(), "one prediction an example");
  if (options_.step.rule != StepRule::perceptron) return learn_romma(block, predictions);
  const std::size_t most = block_size(stride_);
  for (std::size_t begin = 0; begin < block.ranks.size(); begin += most) {
    const std::size_t count = std::min(most, block.ranks.size() - begin);
    const BankBlock part{block.rows + begin * stride_, block.ranks.subspan(begin, count),
                         block.first_step + begin};
    learn_block(part, threads, predictions.subspan(begin, count));
  }
}

/// Returns whether the PRank moved.
bool PrankBank::learn_romma(std::size_t ranker, const double* row, double square, int rank) {
  double* weights = weights_of(ranker);
  double& slack = state_.slack_squares[ranker];
  const std::span<double> cuts_of_ranker(state_.thresholds.data() + ranker * cuts(), cuts());
  RommaExample example{padded_dot(weights, row, stride_), square, slack, rank};
  const bool is_right = rank_of(example.score, cuts_of_ranker) == rank;
  state_.correct[ranker] += is_right ? 1 : 0;
  if (is_right &&
      (options_.step.rule == StepRule::romma || !is_within_margin(example.score, cuts_of_ranker, rank)))
    return false;
  example.rule_square += padded_dot(weights, weights, stride_);
  for (const double cut : cuts_of_ranker) example.rule_square += cut * cut;
  const auto step = romma_step(example, cuts_of_ranker);
  if (!step) return false;
  scale_and_add_row(weights, *step, row, state_.weight_sums.data(), stride_);
  slack = step->scale * step->scale * slack + options_.step.slack * step->step * step->step;
  return true;
}

void PrankBank::learn_romma(const BankBlock& block, std::span<BankPrediction> predictions) {
  std::vector<std::uint8_t> shown(options_.rankers);
  for (std::size_t t = 0; t < block.ranks.size(); ++t) {
    const double* row = block.rows + t * stride_;
    draw(block.first_step + t, shown.data());
    predictions[t] = predict(row);
    const double square = padded_dot(row, row, stride_) + options_.step.slack;
    bool has_moved = false;
    for (std::size_t j = 0; j < shown.size(); ++j)
      if (shown[j] != 0 && learn_romma(j, row, square, block.ranks[t])) has_moved = true;
    if (has_moved) add_up_thresholds();
  }
}

void PrankBank::add_up_thresholds() {
  std::fill(threshold_sums_.begin(), threshold_sums_.end(), 0.0);
  for (std::size_t i = 0; i < state_.thresholds.size(); ++i)
    threshold_sums_[i % cuts()] += state_.thresholds[i];
}

bool PrankBank::learn_stored(const double* row, int rank, std::uint64_t step, std::size_t slot) {
  require(options_.step.rule == StepRule::perceptron,
          "stored examples are learned by the perceptron's steps");
  std::vector<std::uint8_t> shown(options_.rankers);
  draw(step, shown.data());
  std::vector<int> moves(options_.rankers, 0);
  std::vector<std::int64_t> cut_moves(cuts(), 0);
  bool has_erred = false;
  for (std::size_t j = 0; j < shown.size(); ++j) {
    if (shown[j] == 0) continue;
    const double score = padded_dot(weights_of(j), row, stride_);
    if (rank_of(score, thresholds(j)) == rank) {
      ++state_.correct[j];
      continue;
    }
    has_erred = true;
    moves[j] = move_cuts(j, score, rank, cut_moves.data());
  }
  if (!has_erred) return false;
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < shown.size(); ++j) {
    weights_of(j)[slot] = moves[j];
    sum += moves[j];
  }
  state_.weight_sums[slot] = static_cast<double>(sum);
  for (std::size_t r = 0; r < cuts(); ++r) threshold_sums_[r] += static_cast<double>(cut_moves[r]);
  return true;
}

BankPrediction PrankBank::predict(const double* row) const {
  BankPrediction prediction = point_prediction(row);
  if (!options_.has_votes) return prediction;
  std::uint64_t votes = 0;
  std::uint64_t right = 0;
  std::uint64_t right_votes = 0;
  for (std::size_t j = 0; j < options_.rankers; ++j) {
    const auto rank =
        static_cast<std::uint64_t>(rank_of(padded_dot(weights(j).data(), row, stride_), thresholds(j)));
    votes += rank;
    right += state_.correct[j];
    right_votes += state_.correct[j] * rank;
  }
  prediction.bagged = static_cast<double>(votes) / static_cast<double>(options_.rankers);
  prediction.voted = mean_by(right, right_votes, prediction.bagged);
  return prediction;
}

void PrankBank::start_from(std::size_t dimension, double weight) {
  require(dimension < options_.dimensions, "a start needs a dimension of the bank");
  for (std::size_t j = 0; j < options_.rankers; ++j) weights_of(j)[dimension] += weight;
  state_.weight_sums[dimension] += weight * static_cast<double>(options_.rankers);
}

void PrankBank::restore(BankState state) {
  require(state.weights.size() == state_.weights.size() &&
              state.thresholds.size() == state_.thresholds.size() &&
              state.weight_sums.size() == state_.weight_sums.size() &&
              state.correct.size() == state_.correct.size() &&
              state.slack_squares.size() == state_.slack_squares.size(),
          "a bank is restored from one of its own sizes");
  state_ = std::move(state);
  add_up_thresholds();
}

}  // namespace metafuse::fusion::online
