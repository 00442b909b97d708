#include "experiments/letor_agg/fold.h"

#include <filesystem>
#include <numeric>

#include "experiments/split.h"

namespace metafuse::experiments::letor_agg {
namespace {

Result<std::string> part_file(const std::string& data, const std::string& set, int part) {
  const std::string path = data + "/letor4-agg/" + set + "/A" + std::to_string(part) + ".txt";
  std::string found = with_packing(path);
  if (!std::filesystem::exists(found))
    return fail(Code::no_input, path +
                                    ": no such file, nor packed as .xz, .gz or .zst; --data names the folder "
                                    "that holds letor4-agg");
  return found;
}

}  // namespace

Result<std::vector<Fold>> official_folds(const std::string& data) {
  std::vector<Fold> folds;
  for (const char* set : kSets) {
    std::vector<std::string> parts;
    for (int part = 1; part <= kFolds; ++part) {
      TRY(auto file, part_file(data, set, part));
      parts.push_back(file);
    }
    for (int first = 0; first < kFolds; ++first) {
      const auto part = [&](int i) { return parts[static_cast<std::size_t>((first + i) % kFolds)]; };
      folds.push_back({set, first + 1, {part(0), part(1), part(2)}, part(3), part(4)});
    }
  }
  return folds;
}

Result<fusion::TrainingSet> read_parts(const std::vector<std::string>& files, const Reading& reading,
                                       const std::vector<fusion::Feature>& expected) {
  fusion::TrainingInput input;
  input.letor_ranks = files;
  input.query_weights = reading.query_weights;
  input.feedback.grade_weights = reading.grade_weights;
  input.derive = reading.derive;
  input.expected = expected;
  return fusion::read_training_set(input);
}

std::vector<double> mean_of(const Values& values) {
  std::vector<double> mean(kMeasureCount, 0.0);
  for (const auto& query : values)
    for (std::size_t m = 0; m < kMeasureCount; ++m) mean[m] += query[m] / static_cast<double>(values.size());
  return mean;
}

double criterion(const Values& values) {
  const std::vector<double> mean = mean_of(values);
  return std::accumulate(mean.begin(), mean.end(), 0.0) / static_cast<double>(kMeasureCount);
}

}  // namespace metafuse::experiments::letor_agg
