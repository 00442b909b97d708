#pragma once

// The verbs that only the laboratory's program has.

#include "cli/verbs.h"

namespace metafuse::lab {

void add_experiment(CLI::App& app, cli::Program& program);
void add_stream(CLI::App& app, cli::Program& program);

}  // namespace metafuse::lab
