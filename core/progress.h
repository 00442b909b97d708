#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace metafuse {

/// Long work reports (done, total) through such a function; an empty one reports nothing.
using ProgressReport = std::function<void(std::size_t done, std::size_t total)>;

/// A progress bar on standard error when that is a terminal, else an empty function.
/// The bar is redrawn at most ten times a second and wiped when done reaches total.
ProgressReport terminal_progress(std::string label);

}  // namespace metafuse
