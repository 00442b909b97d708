#pragma once

#include <memory>

#include "core/result.h"
#include "service/store/sql_database.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The store in a database: makes its tables when there are none.
///
/// errors: bad_data when the tables are of a later version
Result<std::unique_ptr<Store>> make_sql_store(std::unique_ptr<SqlDatabase> database, StoreMode mode);

}  // namespace metafuse::service
