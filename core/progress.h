#pragma once

#include <cstddef>
#include <functional>

namespace metafuse {

/// Long work reports (done, total) through such a function; an empty one reports nothing.
using ProgressReport = std::function<void(std::size_t done, std::size_t total)>;

}  // namespace metafuse
