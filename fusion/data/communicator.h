#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace metafuse::fusion {

/// Processes that train one model together, each on its own part of the queries. Every call is made by all of
/// them in the same order, and gives all of them the same.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sums over all processes, in place; whole numbers, so that the order of additions does not matter.
  virtual void sum(std::span<std::int64_t> numbers) = 0;
  /// Every process's bytes, in the order of their numbers.
  virtual std::vector<std::string> gather(const std::string& own) = 0;
};

// The same for a process that may be alone: a null communicator leaves everything as it is.

void sum_over_processes(Communicator* communicator, std::span<std::int64_t> numbers);
std::int64_t sum_over_processes(Communicator* communicator, std::int64_t number);
/// All processes' numbers, one process's behind the other's.
std::vector<double> numbers_of_processes(Communicator* communicator, std::vector<double> own);

/// The sum of finite numbers >= 0 in fixed point of 127 bits, so that it does not depend on their order:
/// exact but for a rounding of 2^-90 of the largest a number.
double exact_sum(std::span<const double> numbers);

}  // namespace metafuse::fusion
