#include "service/store/store.h"

#include "service/store/postgres_database.h"
#include "service/store/sql_store.h"
#include "service/store/sqlite_database.h"

namespace metafuse::service {

bool is_postgres_url(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

Result<std::unique_ptr<Store>> open_store(const std::string& location, StoreMode mode,
                                          const std::string& secret_file) {
  const bool is_postgres = is_postgres_url(location);
  TRY(auto database, is_postgres ? open_postgres(location) : open_sqlite(location, mode));
  const std::string beside = is_postgres ? std::string() : location + ".secret";
  return make_sql_store(std::move(database), mode, secret_file.empty() ? beside : secret_file);
}

}  // namespace metafuse::service
