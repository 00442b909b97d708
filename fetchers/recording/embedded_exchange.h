#pragma once

#include <string_view>

#include "core/ranked_list.h"
#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

// Engines that are not behind HTTP are recorded and replayed like the others, as exchanges of their own.

/// The request that stands for a query of such an engine.
HttpRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset);
HttpAnswer embedded_answer(const Result<RankedList>& list, Duration elapsed);
/// errors: the failure that was recorded; bad_data: an answer that embedded_answer did not make
Result<RankedList> read_embedded_answer(const HttpAnswer& answer);

}  // namespace metafuse::fetchers
