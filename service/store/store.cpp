#include "service/store/store.h"

#include "service/store/postgres_database.h"
#include "service/store/sql_store.h"
#include "service/store/sqlite_database.h"

namespace metafuse::service {

Result<std::unique_ptr<Store>> open_store(const std::string& location, StoreMode mode) {
  const bool is_postgres = location.starts_with("postgresql://") || location.starts_with("postgres://");
  auto database = is_postgres ? open_postgres(location) : open_sqlite(location, mode);
  if (database.has_error()) return database.error();
  return make_sql_store(std::move(*database), mode);
}

}  // namespace metafuse::service
