#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "fetchers/engines/http/ready_access.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// Fills in the secrets of an engine that is a database server. In the connection string each stays one
/// value, whatever it contains.
///
/// errors: bad_config, naming the engine and the secret that is not set
Result<void> fill_secrets(DatabaseAccess& database, const Engine& engine, const SecretLookup& secret_of);

/// How a secret is written in a connection string: percent-encoded in the account and the parameters of
/// PostgreSQL's URL; with escaped blanks and quotation marks in PostgreSQL's `name=value`; in braces, if its
/// characters need them, in ODBC's string. A secret that is more than one value, such as the whole string, is
/// written as it is.
///
/// in:     before, after - the string around the secret
/// source: PostgreSQL's documentation of libpq, "Connection Strings"; ODBC's SQLDriverConnect
std::string connection_value(DatabaseAccess::Server server, std::string_view before, std::string_view after,
                             const std::string& secret);

}  // namespace metafuse::fetchers
