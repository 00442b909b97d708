#pragma once

#include <string>

#include "core/progress.h"

namespace metafuse::cli {

/// A progress bar on standard error when that is a terminal, else an empty function. The bar is redrawn at
/// most ten times per second and wiped when done reaches total.
ProgressReport terminal_progress(std::string label);

}  // namespace metafuse::cli
