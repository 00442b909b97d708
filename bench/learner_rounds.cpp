// Seconds per round and peak memory of a boosting learner on a LETOR file:
//   learner_rounds LEARNER FILE [--ranks] [--threads=N] [OPTION=VALUE ...]
// Prints the processor seconds of all threads, which other work on the machine hardly changes, and wall-clock
// seconds. A round is timed from one progress report to the next, which separates it from reading and set-up.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "fusion/input/input_files.h"
#include "lab/registry.h"

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

/// What the command line requests.
struct Job {
  const metafuse::fusion::Learner* learner = nullptr;
  metafuse::fusion::TrainingInput input;
  metafuse::fusion::TrainingRequest request;
};

Job read_job(int count, char** arguments) {
  Job job;
  job.learner = metafuse::lab::find_learner(arguments[1]);
  job.input.is_absent_unranked = true;
  bool is_ranks = false;
  for (int i = 3; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (argument == "--ranks")
      is_ranks = true;
    else if (argument.starts_with("--threads="))
      job.request.threads = static_cast<unsigned>(std::stoul(argument.substr(equals + 1)));
    else if (equals != std::string::npos)
      job.request.options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  (is_ranks ? job.input.letor_ranks : job.input.letor).push_back(arguments[2]);
  return job;
}

double seconds(WallClock::duration time) {
  return std::chrono::duration<double>(time).count();
}

void print_moments(const std::vector<Moment>& moments) {
  std::vector<double> by_clock, by_processor;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    by_clock.push_back(seconds(moments[i].clock - moments[i - 1].clock));
    by_processor.push_back(moments[i].processor - moments[i - 1].processor);
  }
  print_rounds("processor", std::move(by_processor));
  print_rounds("clock", std::move(by_clock));
}

long peak_megabytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int refuse(int status, const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3)
    return refuse(64, "usage: learner_rounds LEARNER FILE [--ranks] [--threads=N] [OPTION=VALUE ...]");
  Job job = read_job(count, arguments);
  if (job.learner == nullptr || job.learner->train == nullptr)
    return refuse(64, std::string("no learner ") + arguments[1]);
  const auto start = WallClock::now();
  const auto set = metafuse::fusion::read_training_set(job.input);
  if (!set) return refuse(65, set.error().text);
  std::vector<Moment> moments;
  job.request.train = &*set;
  job.request.progress = [&moments](std::size_t, std::size_t) { moments.push_back(now()); };
  const Moment begin = now();
  const auto result = job.learner->train(job.request);
  const Moment end = now();
  if (!result) return refuse(65, result.error().text);
  std::printf("%s", result->summary.c_str());
  std::printf("read %.3f s, train %.3f s in all (CPU %.3f s), peak %ld MB\n", seconds(begin.clock - start),
              seconds(end.clock - begin.clock), end.processor - begin.processor, peak_megabytes());
  print_moments(moments);
  return 0;
}
