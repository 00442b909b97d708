#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace metafuse::fusion {

/// Connects processes that train one model together, each on its own part of the queries. Every process makes
/// the same calls in the same order and receives the same results.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sums each number over all processes, in place. Integers, so that the order of the additions does
  /// not matter.
  virtual void sum(std::span<std::int64_t> numbers) = 0;
  /// Gathers the bytes of every process, in the order of the process numbers.
  virtual std::vector<std::string> gather(const std::string& own) = 0;
};

// The same operations for a process that may be alone: a null communicator leaves its numbers as they are.

void sum_over_processes(Communicator* communicator, std::span<std::int64_t> numbers);
std::int64_t sum_over_processes(Communicator* communicator, std::int64_t number);
/// The numbers of all processes, concatenated in the order of the process numbers.
template <class Number>
std::vector<Number> numbers_of_processes(Communicator* communicator, std::vector<Number> own) {
  if (communicator == nullptr) return own;
  const std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(Number));
  std::vector<Number> all;
  for (const std::string& part : communicator->gather(bytes)) {
    const std::size_t begin = all.size();
    all.resize(begin + part.size() / sizeof(Number));
    if (!part.empty()) std::memcpy(all.data() + begin, part.data(), part.size());
  }
  return all;
}

/// The sum of finite numbers >= 0, added up in 127-bit fixed point so that it does not depend on their order.
/// Each number is rounded down by less than 2^-89 of the largest one.
double exact_sum(std::span<const double> numbers);

}  // namespace metafuse::fusion
