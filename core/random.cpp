#include "core/random.h"

#include <bit>
#include <cmath>

#include "core/contract.h"
#include "core/portable_math.h"
#include "core/random_numbers.h"

namespace metafuse {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  require(bound > 0, "a random number needs a positive bound");
  for (;;) {
    const std::uint64_t draw = next();
    // Draws below 2^64 mod bound are rejected: they would favour some remainders. A draw >= bound is never
    // one of them, which saves computing that remainder.
    if (draw >= bound || draw >= (0 - bound) % bound) return draw % bound;
  }
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  double u = 0.0;
  double v = 0.0;
  double s = 0.0;
  do {
    u = 2.0 * uniform() - 1.0;
    v = 2.0 * uniform() - 1.0;
    s = u * u + v * v;
  } while (s >= 1.0 || s == 0.0);
  const double factor = std::sqrt(-2.0 * portable_log(s) / s);
  spare_normal_ = v * factor;
  has_spare_ = true;
  return u * factor;
}

Random Random::split(std::uint64_t stream) const {
  std::uint64_t mixed = state_[0] ^ (stream * 0xd1342543de82ef95U);
  return Random(splitmix64(mixed));
}

void draw_below(Random& random, std::uint64_t bound, std::span<std::uint64_t> numbers) {
  require(bound > 0, "a random number needs a positive bound");
  __extension__ typedef unsigned __int128 Wide;
  const std::uint64_t rejected = (0 - bound) % bound;
  const std::uint64_t inverse = ~std::uint64_t{0} / bound;
  Random own = random;  // a copy, whose state stays in registers
  for (std::uint64_t& number : numbers) {
    std::uint64_t draw = 0;
    do {
      draw = own.next();
    } while (draw < rejected);
    // The product with the inverse is less than 1 below draw / bound.
    const auto quotient = static_cast<std::uint64_t>(Wide{draw} * inverse >> 64);
    const std::uint64_t rest = draw - quotient * bound;
    number = rest >= bound ? rest - bound : rest;
  }
  random = own;
}

}  // namespace metafuse
