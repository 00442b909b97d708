#include "fusion/learners/common/bagging.h"

#include <atomic>
#include <thread>

#include "core/parallel.h"

namespace metafuse::fusion {

void for_each_bag(const TrainingRequest& request, std::size_t bags,
                  const std::function<void(std::size_t bag)>& train) {
  std::atomic<std::size_t> done{0};
  const auto caller = std::this_thread::get_id();
  parallel_for(bags, request.threads, [&](std::size_t bag) {
    train(bag);
    ++done;
    if (request.progress && std::this_thread::get_id() == caller) request.progress(done, bags);
  });
}

BestRounds best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round) {
  std::vector<double> scores(request.validate->matrix.document_count(), 0.0);
  BestRounds best;
  for (std::size_t round = 0; round < most_rounds; ++round) {
    add_round(round, scores);
    const double value = request.measure(scores);
    if (round == 0 || value > best.value) best = {round + 1, value};
    if (request.patience > 0 && round + 1 >= best.rounds + request.patience) break;
  }
  return best;
}

std::string record_best_rounds(const TrainingRequest& request, const BestRounds& best, JsonObject& training) {
  training["validation"] = JsonObject{{"measure", request.measure_name},
                                      {"value", reported_value(request, best.value)},
                                      {"rounds", best.rounds}};
  return "validation " + request.measure_name + " is best after " + std::to_string(best.rounds) +
         " rounds of each bag, which are kept\n";
}

}  // namespace metafuse::fusion
