#pragma once

#include <string_view>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service::sql {

// What is forgotten; each as the function of Store of the same name.

Result<RemovedCounts> remove_before(SqlDatabase& database, UnixTime time);
Result<RemovedCounts> reset_feedback(SqlDatabase& database, std::string_view domain, bool clicks,
                                     bool judgments);

}  // namespace metafuse::service::sql
