#include "fusion/data/communicator.h"

#include <cstring>

namespace metafuse::fusion {

void sum_over_ranks(Communicator* communicator, std::span<std::int64_t> numbers) {
  if (communicator != nullptr) communicator->sum(numbers);
}

std::int64_t sum_over_ranks(Communicator* communicator, std::int64_t number) {
  sum_over_ranks(communicator, std::span(&number, 1));
  return number;
}

std::vector<double> numbers_of_ranks(Communicator* communicator, std::vector<double> own) {
  if (communicator == nullptr) return own;
  std::string bytes(own.size() * sizeof(double), '\0');
  if (!own.empty()) std::memcpy(bytes.data(), own.data(), bytes.size());
  std::vector<double> all;
  for (const std::string& part : communicator->gather(bytes)) {
    const std::size_t begin = all.size();
    all.resize(begin + part.size() / sizeof(double));
    if (!part.empty()) std::memcpy(all.data() + begin, part.data(), part.size());
  }
  return all;
}

}  // namespace metafuse::fusion
