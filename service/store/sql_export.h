#pragma once

#include <functional>
#include <string_view>

#include "core/result.h"
#include "service/store/sql_database.h"

namespace metafuse::service {

/// Store::export_lines: reads a hundred rows at a time, so that nothing waits for a long export.
Result<void> export_database(SqlDatabase& database,
                             const std::function<Result<void>(std::string_view line)>& take);

}  // namespace metafuse::service
