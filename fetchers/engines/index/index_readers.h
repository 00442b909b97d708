#pragma once

#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

// The readers of definitions of engines on an index that `metafuse index` builds.
void read_local(EngineBlock& block);
void read_local_cosine(EngineBlock& block);
void read_local_vector(EngineBlock& block);

}  // namespace metafuse::fetchers
