#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/text_file.h"

namespace metafuse {

/// Calls `work(i)` for every i in {0, ..., count - 1} on up to `threads` threads, including the caller's, or
/// on as many as the system makes. The assignment of i to threads is not fixed, so `work` should store
/// results in slots indexed by i.
///
/// errors: none of its own. If `work` throws, no further calls start and the exception is thrown again here.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

/// The same for work that may fail. After a failure, no further calls start.
/// errors: that of the lowest i that failed
Result<void> try_parallel_for(std::size_t count, unsigned threads,
                              const std::function<Result<void>(std::size_t)>& work);

/// How many threads the machine runs at once, at least 1.
unsigned hardware_threads();

/// Receives a block of whole lines, as for_each_block delivers it, on one of the workers.
using TakeBlockOnWorker =
    std::function<Result<void>(unsigned worker, std::string_view lines, std::size_t first_line)>;

/// Like for_each_block, with up to `threads` workers that process blocks concurrently while the caller's
/// thread reads and decompresses. The assignment of blocks to workers is not fixed.
///
/// in:     threads - the most workers, numbered from 0; with 1, or if the system makes no thread, the
///         caller's thread does everything
/// errors: as for_each_block; if several blocks fail, the error of the earliest one in the file
/// cost:   one buffer per worker
Result<void> for_each_block_on_workers(const std::string& path, unsigned threads,
                                       const TakeBlockOnWorker& take, const TextLimits& limits = {});

}  // namespace metafuse
