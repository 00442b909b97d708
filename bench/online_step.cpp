// The time of one online step of N PRanks in d dimensions, compared with reading the N x d weights once.
// Prints both and their ratio. Usage: online_step

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <span>
#include <vector>

#include "core/random.h"
#include "fusion/model/online/prank_bank.h"

namespace {

using metafuse::Random;
using metafuse::fusion::online::BankPrediction;
using metafuse::fusion::online::PrankBank;

/// Processor time, which does not include other programs on the machine.
double seconds_of(int times, const auto& work) {
  double best = 1e9;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const std::clock_t start = std::clock();
    for (int i = 0; i < times; ++i) work();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::min(best, seconds / times);
  }
  return best;
}

/// The least that touches all weights: adds them up, in eight sums side by side.
double read_once(const PrankBank& bank) {
  double lanes[8] = {};
  for (std::size_t j = 0; j < bank.options().rankers; ++j) {
    const auto row = bank.weights(j);
    for (std::size_t i = 0; i < row.size(); i += 8)
      for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += row[i + lane];
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// Times a stream of examples, learned `block` at a time.
void measure(std::size_t rankers, std::size_t dimensions, double tau, bool wants_votes, std::size_t block) {
  constexpr std::size_t kExamples = 1000;
  PrankBank bank({rankers, dimensions, 5, tau, 1, {}, wants_votes});
  Random random(2);
  std::vector<double> rows(kExamples * bank.stride(), 0.0);
  std::vector<int> ranks;
  for (std::size_t t = 0; t < kExamples; ++t) {
    double sum = 0.0;
    for (std::size_t i = 0; i < dimensions; ++i) sum += rows[t * bank.stride() + i] = random.normal();
    const double score = sum / std::sqrt(static_cast<double>(dimensions)) + 0.1 * random.normal();
    ranks.push_back(std::clamp(3 + static_cast<int>(std::floor(score)), 1, 5));
  }
  std::vector<BankPrediction> predictions(kExamples);
  std::uint64_t step = 0;
  const auto learn = [&] {
    for (std::size_t t = 0; t < kExamples; t += block, step += block)
      bank.learn({&rows[t * bank.stride()], std::span(ranks).subspan(t, block), step}, 1,
                 std::span(predictions).subspan(t, block));
  };
  for (int warm = 0; warm < 2; ++warm) learn();
  double wrong = 0.0;
  for (std::size_t t = 0; t < kExamples; ++t)
    wrong += predictions[t].point != ranks[t] ? 1.0 / static_cast<double>(kExamples) : 0.0;
  const double learning = seconds_of(1, learn) / static_cast<double>(kExamples);
  volatile double sink = 0.0;
  const double reading = seconds_of(200, [&] { sink = read_once(bank); });
  std::printf("%zu\t%zu\t%.1f\t%s\t%zu\t%.2f\t%.1f\t%.1f\t%.2f\n", rankers, dimensions, tau,
              wants_votes ? "yes" : "no", block, wrong, 1e6 * learning, 1e6 * reading, learning / reading);
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::printf("N\td\ttau\tvotes\tblock\twrong\tstep us\tread us\tratio\n");
  for (const auto& [rankers, dimensions] :
       {std::pair<std::size_t, std::size_t>{100, 136}, {100, 2000}, {1000, 1000}})
    for (const double tau : {0.3, 1.0})
      for (const bool wants_votes : {false, true})
        for (const std::size_t block : {1U, 1000U}) measure(rankers, dimensions, tau, wants_votes, block);
}
