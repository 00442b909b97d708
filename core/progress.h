#pragma once

#include <cstddef>
#include <functional>

namespace metafuse {

/// Called with (done, total) by long-running work; an empty function means that no progress is reported.
using ProgressReport = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace metafuse
