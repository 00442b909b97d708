#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "service/config/snapshot.h"

namespace metafuse::service {

/// The value of "${name}" in an engine file, or nothing when it is not set.
using SecretLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The engines of a configuration's files behind libcurl and SQLite, or behind its recordings.
///
/// errors: bad_config with every mistake of every file, two engines of one name; those of make_fetcher
Result<LoadedEngines> load_engines(const ServerConfig& config, const SecretLookup& secret_of);

}  // namespace metafuse::service
