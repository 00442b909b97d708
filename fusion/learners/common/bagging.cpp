#include "fusion/learners/common/bagging.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "core/parallel.h"
#include "fusion/data/base_queries.h"

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

std::vector<std::size_t> bootstrap_sample(std::size_t queries, Random random) {
  std::vector<std::size_t> sample(queries);
  for (std::size_t& query : sample) query = static_cast<std::size_t>(random.below(queries));
  std::sort(sample.begin(), sample.end());
  return sample;
}

std::array<std::vector<std::size_t>, 2> halves_of_queries(const TrainingSet& set, Random random) {
  std::vector<std::string_view> names;
  for (const QueryRange& query : set.queries) names.push_back(base_query_of(query.id));
  std::vector<std::string_view> drawn = names;
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  random.shuffle(drawn);
  drawn.resize(drawn.size() / 2);
  std::sort(drawn.begin(), drawn.end());
  std::array<std::vector<std::size_t>, 2> halves;
  for (std::size_t query = 0; query < names.size(); ++query)
    halves[std::binary_search(drawn.begin(), drawn.end(), names[query]) ? 0 : 1].push_back(query);
  return halves;
}

TimeLimit limit_of_bag(const TrainingRequest& request, std::size_t bags) {
  const auto waves = (bags + request.threads - 1) / std::max(1U, request.threads);
  return {request.limit.clock, request.limit.seconds / static_cast<double>(std::max<std::size_t>(1, waves))};
}

std::vector<WeakRanking> mean_of_bags(std::span<const std::span<const WeakRanking>> bags) {
  using Key = std::tuple<std::uint32_t, double, double>;
  std::map<Key, double> weights;
  for (const auto& bag : bags)
    for (const WeakRanking& h : bag)
      weights[{h.feature, -h.threshold, h.q_default}] += h.alpha / static_cast<double>(bags.size());
  std::vector<WeakRanking> out;
  for (const auto& [key, alpha] : weights)
    out.push_back({std::get<0>(key), -std::get<1>(key), std::get<2>(key), alpha});
  return out;
}

BestRound best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round) {
  std::vector<double> scores(request.validate->matrix.document_count(), 0.0);
  BestRound best(request.patience);
  for (std::size_t round = 0; round < most_rounds; ++round) {
    add_round(round, scores);
    if (!best.add(request.measure.value(scores))) break;
  }
  return best;
}

std::string record_best_rounds(const TrainingRequest& request, const BestRound& best, JsonObject& training) {
  training["validation"] = validation_record(request, best.value());
  training["validation"].as_object()["rounds"] = best.rounds();
  return fmt::format("validation {} is best after {} rounds of each bag, which are kept\n",
                     request.measure.name, best.rounds());
}

}  // namespace metafuse::fusion
