// Seconds a round and peak memory of a boosting learner on a LETOR file:
//   learner_rounds LEARNER FILE [--ranks] [--threads=N] [OPTION=VALUE ...]
// Processor seconds of all threads, which other work on the machine hardly changes, and those of the clock. A
// round is timed from one progress report to the next, so that reading and set-up are told apart from it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "fusion/registry.h"
#include "fusion/training_input.h"

namespace {

using WallClock = std::chrono::steady_clock;

struct Moment {
  WallClock::time_point clock;
  double processor = 0.0;  // seconds of this process
};

Moment now() {
  return {WallClock::now(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
}

void print_rounds(const char* kind, std::vector<double> rounds) {
  if (rounds.empty()) return;
  std::sort(rounds.begin(), rounds.end());
  double sum = 0.0;
  for (const double round : rounds) sum += round;
  std::printf("%s seconds a round: mean %.5f, median %.5f, longest %.5f\n", kind,
              sum / static_cast<double>(rounds.size()), rounds[rounds.size() / 2], rounds.back());
}

}  // namespace

int main(int count, char** arguments) {
  using namespace metafuse;
  if (count < 3) {
    std::fprintf(stderr, "usage: learner_rounds LEARNER FILE [--ranks] [--threads=N] [OPTION=VALUE ...]\n");
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
    else if (argument.starts_with("--threads="))
      request.threads = static_cast<unsigned>(std::stoul(argument.substr(equals + 1)));
    else if (equals != std::string::npos)
      request.options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  (is_ranks ? input.letor_ranks : input.letor).push_back(arguments[2]);
  input.is_absent_unranked = true;
  if (learner == nullptr || learner->train == nullptr) {
    std::fprintf(stderr, "no learner %s\n", arguments[1]);
    return 64;
  }
  const auto start = WallClock::now();
  const auto set = fusion::read_training_set(input);
  if (!set) {
    std::fprintf(stderr, "%s\n", set.error().text.c_str());
    return 65;
  }
  std::vector<Moment> moments;
  request.train = &*set;
  request.progress = [&moments](std::size_t, std::size_t) { moments.push_back(now()); };
  const auto begin = WallClock::now();
  const auto result = learner->train(request);
  const auto end = WallClock::now();
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text.c_str());
    return 65;
  }
  const auto seconds = [](WallClock::duration time) { return std::chrono::duration<double>(time).count(); };
  std::vector<double> by_clock, by_processor;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    by_clock.push_back(seconds(moments[i].clock - moments[i - 1].clock));
    by_processor.push_back(moments[i].processor - moments[i - 1].processor);
  }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s", result->summary.c_str());
  std::printf("read %.3f s, train %.3f s in all, peak %ld MB\n", seconds(begin - start), seconds(end - begin),
              usage.ru_maxrss / 1024);
  print_rounds("processor", std::move(by_processor));
  print_rounds("clock", std::move(by_clock));
  return 0;
}
