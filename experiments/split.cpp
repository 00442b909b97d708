#include "experiments/split.h"

#include <algorithm>
#include <filesystem>

#include "fusion/input/training_input.h"

namespace metafuse::experiments {

Result<fusion::TrainingSet> read_letor(const std::vector<std::string>& paths) {
  fusion::TrainingInput input;
  for (const std::string& path : paths) input.letor.push_back(with_packing(path));
  return fusion::read_training_set(input);
}

Result<Split> read_letor_split(const std::string& folder, std::size_t fold) {
  const auto part = [&](std::size_t offset) {
    return folder + "/S" + std::to_string((fold + offset) % kFifths + 1) + ".txt";
  };
  TRY(auto train, read_letor({part(0), part(1), part(2)}));
  TRY(auto validate, read_letor({part(3)}));
  TRY(auto test, read_letor({part(4)}));
  return Split{std::move(train), std::move(validate), std::move(test)};
}

std::array<std::vector<std::size_t>, 3> turn_of_fifths(const std::vector<std::size_t>& order,
                                                       std::size_t fold) {
  std::array<std::vector<std::size_t>, 3> parts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t place = (i + kFifths - fold) % kFifths;
    parts[place < 3 ? 0 : place - 2].push_back(order[i]);
  }
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

std::string with_packing(const std::string& path) {
  for (const char* packing : {"", ".xz", ".gz", ".zst"})
    if (std::filesystem::exists(path + packing)) return path + packing;
  return path;
}

}  // namespace metafuse::experiments
