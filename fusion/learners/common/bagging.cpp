#include "fusion/learners/common/bagging.h"

#include <atomic>
#include <thread>

#include <fmt/format.h>

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

BestRound best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round) {
  std::vector<double> scores(request.validate->matrix.document_count(), 0.0);
  BestRound best(request.patience);
  for (std::size_t round = 0; round < most_rounds; ++round) {
    add_round(round, scores);
    if (!best.add(request.measure(scores))) break;
  }
  return best;
}

std::string record_best_rounds(const TrainingRequest& request, const BestRound& best, JsonObject& training) {
  training["validation"] = validation_record(request, best.value());
  training["validation"].as_object()["rounds"] = best.rounds();
  return fmt::format("validation {} is best after {} rounds of each bag, which are kept\n",
                     request.measure_name, best.rounds());
}

}  // namespace metafuse::fusion
