#pragma once

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// The answer of /v1/search.
JsonObject native_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                       bool is_explained);
}  // namespace metafuse::service
