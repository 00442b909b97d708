#pragma once

#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

/// Reads the definition of an engine of the type `command`.
void read_command(EngineBlock& block);

/// Runs a program once: no shell, an empty environment, limited output and time.
///
/// errors: usage: a query that contains a NUL or a line end, or begins with `-` without `--` in front of it
Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline);

}  // namespace metafuse::fetchers
