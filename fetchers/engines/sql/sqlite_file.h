#pragma once

#include <string_view>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// Runs one SELECT on a file that is opened read-only; the query is a bound parameter.
Result<RankedList> search_sqlite(const SqliteAccess& access, std::string_view query, int depth, int offset,
                                 const Deadline& deadline);

}  // namespace metafuse::fetchers
