#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "service/store/sql_database.h"

namespace metafuse::service {

/// Opens a PostgreSQL database behind some pooled connections, which are made again when they break. Every
/// wait ends on our side, whatever the server and the network between do: a name that is not resolved, a
/// connection that is accepted and never answered, a cable that was pulled. After such a failure the server
/// is left alone for a second, in which every call fails at once.
///
/// in:     url - "postgresql://USER@HOST:PORT/NAME" with libpq's parameters
/// errors: unavailable: no server there, or it turned us away; bad_config: not a URL of libpq's
Result<std::unique_ptr<SqlDatabase>> open_postgres(const std::string& url);

}  // namespace metafuse::service
