#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <string>

namespace metafuse::test {

/// Draws words so that a few occur nearly everywhere and most are rare.
class WordDice {
 public:
  explicit WordDice(unsigned seed) : numbers_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(numbers_);
  }

  std::string word() {
    const double place = std::pow(400.0, std::uniform_real_distribution<double>(0, 1)(numbers_));
    return "search" + std::to_string(static_cast<int>(place));
  }

  std::string words(std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? " " : "") + word();
    return out;
  }

 private:
  std::mt19937 numbers_;
};

}  // namespace metafuse::test
