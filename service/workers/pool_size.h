#pragma once

#include "service/config/config.h"
#include "service/workers/worker_pool.h"

namespace metafuse::service {

/// How many threads may fetch and score: the configuration's, else 32 a core, since most of them wait.
unsigned worker_count(const ServerConfig& config);

/// How much work may wait and run at once on this machine's cores.
QueueLimits queue_limits(const LimitsConfig& limits);

}  // namespace metafuse::service
