// Seconds a round and peak memory of a boosting learner on a LETOR file:
//   learner_rounds LEARNER FILE [--ranks] [OPTION=VALUE ...]
// A round is timed from one progress report to the next, so that reading and set-up are told apart from it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "fusion/registry.h"
#include "fusion/training_input.h"

int main(int count, char** arguments) {
  using namespace metafuse;
  using Clock = std::chrono::steady_clock;
  if (count < 3) {
    std::fprintf(stderr, "usage: learner_rounds LEARNER FILE [--ranks] [OPTION=VALUE ...]\n");
    return 64;
  }
  const fusion::Learner* learner = fusion::find_learner(arguments[1]);
  fusion::TrainingInput input;
  fusion::TrainingRequest request;
  bool is_ranks = false;
  for (int i = 3; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (argument == "--ranks")
      is_ranks = true;
    else if (equals != std::string::npos)
      request.options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  (is_ranks ? input.letor_ranks : input.letor).push_back(arguments[2]);
  input.is_absent_unranked = true;
  if (learner == nullptr || learner->train == nullptr) {
    std::fprintf(stderr, "no learner %s\n", arguments[1]);
    return 64;
  }
  const auto start = Clock::now();
  const auto set = fusion::read_training_set(input);
  if (!set) {
    std::fprintf(stderr, "%s\n", set.error().text.c_str());
    return 65;
  }
  std::vector<Clock::time_point> times;
  request.train = &*set;
  request.progress = [&times](std::size_t, std::size_t) { times.push_back(Clock::now()); };
  const auto begin = Clock::now();
  const auto result = learner->train(request);
  const auto end = Clock::now();
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text.c_str());
    return 65;
  }
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  std::vector<double> rounds;
  for (std::size_t i = 1; i < times.size(); ++i) rounds.push_back(seconds(times[i] - times[i - 1]));
  std::sort(rounds.begin(), rounds.end());
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s", result->summary.c_str());
  std::printf("read %.3f s, train %.3f s in all, peak %ld MB\n", seconds(begin - start), seconds(end - begin),
              usage.ru_maxrss / 1024);
  if (!rounds.empty()) {
    double sum = 0.0;
    for (const double round : rounds) sum += round;
    std::printf("seconds a round: mean %.5f, median %.5f, longest %.5f\n",
                sum / static_cast<double>(rounds.size()), rounds[rounds.size() / 2], rounds.back());
  }
  return 0;
}
