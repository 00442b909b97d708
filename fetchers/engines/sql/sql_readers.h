#pragma once

#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

// The readers of definitions of engines that are SQL databases.
void read_sqlite(EngineBlock& block);      // sqlite_file.cpp
void read_postgresql(EngineBlock& block);  // database_engines.cpp
void read_mariadb(EngineBlock& block);
void read_odbc(EngineBlock& block);

}  // namespace metafuse::fetchers
