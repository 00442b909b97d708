#pragma once

#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

// The readers of definitions of engines that are SQL databases.
void read_sqlite(EngineBlock& block);
void read_postgresql(EngineBlock& block);
void read_mariadb(EngineBlock& block);
void read_odbc(EngineBlock& block);

}  // namespace metafuse::fetchers
