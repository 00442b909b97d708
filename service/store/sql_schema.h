#pragma once

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Makes the store's tables when there are none, and refuses those of another version.
///
/// in:     mode - to read, nothing is made
/// errors: bad_data: no store of ours, or one of a later version
Result<void> prepare_schema(SqlDatabase& database, StoreMode mode);

}  // namespace metafuse::service
