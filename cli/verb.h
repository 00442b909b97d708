#pragma once

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace metafuse::cli {

/// Adds one verb to the command line. Its callback does the work when the user chose the verb and leaves what
/// became of it in `outcome`; main() prints the error and returns its exit status.
using AddVerb = void (*)(CLI::App& app, Result<void>& outcome);

}  // namespace metafuse::cli
