#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "service/store/sql_database.h"

namespace metafuse::service {

/// Opens a PostgreSQL database with a pool of connections, which are re-established when they break. Every
/// wait has a time limit on our side, whatever the server and the network do: a name that is not resolved, a
/// connection that is accepted but never answered, a pulled cable. After such a failure the server is left
/// alone for a second, during which every call fails at once.
///
/// in:     url - "postgresql://USER@HOST:PORT/NAME" with libpq's parameters
/// errors: unavailable: no server answers, or it refuses the connection; bad_config: not a URL that
///         libpq understands
Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url);

}  // namespace metafuse::service
