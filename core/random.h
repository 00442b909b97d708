#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace metafuse {

/// A seeded pseudo-random number generator with the same output on every platform and in every build:
/// xoshiro256++ seeded by splitmix64. The distributions are our own because those of the standard library
/// differ between implementations.
///
/// source: Blackman, Vigna, Scrambled linear pseudorandom number generators, 2021
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  /// Uniform in [0, 1), with 53 random bits.
  double uniform();
  /// Uniform in {0, ..., bound - 1}, without bias; requires bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (polar method).
  double normal();
  /// An independent stream for one part of the work (a fold, a thread, a trial).
  Random split(std::uint64_t stream) const;

  template <class Container>
  void shuffle(Container& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  std::uint64_t state_[4];
  double spare_normal_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace metafuse
