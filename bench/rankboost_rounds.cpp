// rankboost_rounds FILE [absent=unranked] [threads=N] [trace=yes] [trace-every=N]
//   [memory-limit=MIB] [temporary=DIR] [model=FILE] [OPTION=VALUE ...]
//
// Processor and wall-clock seconds per round of RankBoost on a LETOR file, separate from reading and set-up,
// and peak memory. trace=yes trains as `metafuse train --trace` does; memory-limit and temporary are options
// of `metafuse train` too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "fusion/input/input_files.h"
#include "fusion/training/registry.h"

namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_megabytes() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  using namespace metafuse;
  if (count < 2) {
    std::fprintf(stderr,
                 "usage: rankboost_rounds FILE [absent=unranked] [threads=N] [trace=yes] [trace-every=N] "
                 "[memory-limit=MIB]\n"
                 "         [temporary=DIR] [model=FILE] [OPTION=VALUE ...]\n");
    return 64;
  }
  fusion::TrainingInput input;
  input.letor.emplace_back(arguments[1]);
  fusion::TrainingRequest request;
  request.trace.is_wanted = false;
  const fusion::Learner& learner = *fusion::find_learner("rankboost");
  fusion::MemoryLimit limit;
  limit.bytes_per_document = *learner.bytes_per_document;
  std::string model;
  for (int i = 2; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = std::min(argument.find('='), argument.size() - 1);
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    if (name == "trace")
      request.trace.is_wanted = value == "yes";
    else if (name == "trace-every")
      request.trace.every = static_cast<std::size_t>(std::atoi(value.c_str()));
    else if (name == "absent")
      input.is_absent_unranked = value == "unranked";
    else if (name == "feedback")
      input.feedback.is_bipartite = value == "bipartite";
    else if (name == "memory-limit")
      limit.bytes = static_cast<std::size_t>(std::atoll(value.c_str())) << 20;
    else if (name == "temporary")
      limit.folder = value;
    else if (name == "model")
      model = value;
    else if (name == "threads")
      request.threads = input.threads = static_cast<unsigned>(std::atoi(value.c_str()));
    else
      request.options[name] = value;
  }
  if (limit.bytes > 0) input.limit = limit;
  const double read_begin = cpu_seconds();
  const auto set = fusion::read_training_set(input);
  if (!set) {
    std::fprintf(stderr, "%s\n", set.error().text.c_str());
    return 65;
  }
  const double read_cpu = cpu_seconds() - read_begin;
  const double read_peak = peak_megabytes();
  std::vector<double> cpu;
  std::vector<double> wall;
  request.train = &*set;
  request.progress = [&](std::size_t, std::size_t) {
    cpu.push_back(cpu_seconds());
    wall.push_back(wall_seconds());
  };
  const double train_begin = cpu_seconds();
  const auto result = learner.train(request);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text.c_str());
    return 65;
  }
  if (!model.empty() && !fusion::write_model(model, result->model)) return 66;
  std::vector<double> cpu_rounds;
  std::vector<double> wall_rounds;
  for (std::size_t i = 1; i < cpu.size(); ++i) {
    cpu_rounds.push_back(cpu[i] - cpu[i - 1]);
    wall_rounds.push_back(wall[i] - wall[i - 1]);
  }
  double sum = 0.0;
  for (const double round : cpu_rounds) sum += round;
  std::printf(
      "documents %zu features %zu rounds %zu read_cpu %.3f setup_cpu %.3f round_cpu_mean %.6f "
      "round_cpu_median "
      "%.6f round_wall_median %.6f read_peak_mb %.2f peak_mb %.2f\n",
      set->matrix.document_count(), set->matrix.feature_count(), cpu.size(), read_cpu,
      cpu.empty() ? 0.0 : cpu.front() - train_begin,
      cpu_rounds.empty() ? 0.0 : sum / static_cast<double>(cpu_rounds.size()), median(cpu_rounds),
      median(wall_rounds), read_peak, peak_megabytes());
  return 0;
}
