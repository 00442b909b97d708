#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "service/store/sql_database.h"

namespace metafuse::service {

/// Opens a PostgreSQL database: some connections, made again when they break, with limits on the time to
/// connect and on that of a statement, so that a hanging database cannot hold a request.
///
/// in:     url - "postgresql://USER@HOST:PORT/NAME" with libpq's parameters
/// errors: unavailable: no server there, or it turned us away; the text does not repeat the password
Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url);

}  // namespace metafuse::service
