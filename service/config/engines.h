#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fetchers/calling/earlier_fetchers.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// The value of "${name}" in an engine file, or nothing if it is not set.
using SecretLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Loads the engines that a configuration's files define. They ask through libcurl and SQLite, or replay the
/// configuration's recordings.
///
/// in:     earlier - of this process, for what is known of the same engines; empty: nothing
/// errors: bad_config with every mistake of every file, and for two engines with the same name; those
///         of make_fetcher
Result<LoadedEngines> load_engines(const ServerConfig& config, const SecretLookup& secret_of,
                                   std::shared_ptr<fetchers::EarlierFetchers> earlier = {});

}  // namespace metafuse::service
