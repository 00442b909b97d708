#pragma once

#include <string>

#include "core/result.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

namespace metafuse::cli {

/// A configuration file under what the environment says: METAFUSE_LISTEN, METAFUSE_STORE, METAFUSE_MODELS,
/// METAFUSE_REDIS, each like the key of the same name; `listen` (a flag) wins over both.
Result<service::ServerConfig> read_server_configuration(const std::string& path, const std::string& listen);

/// The engines of a configuration; "${NAME}" in an engine file is the environment's variable NAME.
service::LoadEngines engine_loader();

}  // namespace metafuse::cli
