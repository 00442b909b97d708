#pragma once

#include <cstddef>
#include <functional>

namespace metafuse {

/// Calls `work(i)` for every i in {0, ..., count - 1} on up to `threads` threads, the caller's among them.
/// Which thread does what is not fixed: results belong into slots by i.
///
/// errors: none of its own; an exception of `work` ends the rest and is thrown again here
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

/// How many threads the machine runs at once, at least 1.
unsigned hardware_threads();

}  // namespace metafuse
