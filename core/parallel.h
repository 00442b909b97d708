#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/text_file.h"

namespace metafuse {

/// Calls `work(i)` for every i in {0, ..., count - 1} on up to `threads` threads, the caller's among them.
/// Which thread does what is not fixed: results belong into slots by i.
///
/// errors: none of its own; an exception of `work` ends the rest and is thrown again here
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

/// How many threads the machine runs at once, at least 1.
unsigned hardware_threads();

/// Takes a block of whole lines, as for_each_block gives it, on one of the workers.
using TakeBlockOnWorker =
    std::function<Result<void>(unsigned worker, std::string_view lines, std::size_t first_line)>;

/// As for_each_block, with up to `threads` workers that take blocks at the same time while the caller's
/// thread reads and decompresses. Which worker gets which block is not fixed.
///
/// in:     threads - workers are numbered from 0; with one, the caller's thread does everything
/// errors: as for_each_block; of several blocks with errors, that of the first in the file
/// cost:   one buffer a worker
Result<void> for_each_block_on_workers(const std::string& path, unsigned threads,
                                       const TakeBlockOnWorker& take, const TextLimits& limits = {});

}  // namespace metafuse
