#pragma once

#include "core/json.h"
#include "service/search_pipeline.h"

namespace metafuse::service {

/// How the answer was fused: {"method","model","version","notice","features":[...]}.
JsonObject fusion_json(const SearchAnswer& answer);

/// Why one result stands where it stands: [{"feature","rank","weight"}...], heaviest first; rank null where
/// the list does not hold it.
JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result);

}  // namespace metafuse::service
