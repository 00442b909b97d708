#pragma once

#include <cstdint>
#include <span>

#include "core/random.h"

namespace metafuse {

/// Sets each number as random.below(bound) would, without its divisions. Requires bound > 0.
void draw_below(Random& random, std::uint64_t bound, std::span<std::uint64_t> numbers);

}  // namespace metafuse
