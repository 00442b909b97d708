#pragma once

// Everything that the program takes from its environment: environment variables, configuration files in the
// usual places, and the MPI module installed beside it. The libraries never look there themselves.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "fetchers/model/engine.h"
#include "fusion/mpi/mpi_module.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

namespace metafuse::cli {

/// How the user chose the server configuration.
struct ConfigChoice {
  std::string file;
  bool is_verbose = false;
};

/// Adds --config and --verbose.
void add_config_option(CLI::App& verb, ConfigChoice& choice,
                       const char* meaning = "server configuration (YAML)");

/// Finds the configuration file: the one given; else METAFUSE_CONFIG; else the first that exists of
/// ./metafuse.yaml, $XDG_CONFIG_HOME/metafuse/metafuse.yaml (~/.config if the variable is not set) and
/// /etc/metafuse/metafuse.yaml. With --verbose, its name is printed on standard error.
///
/// errors: usage: no configuration file was found
Result<std::string> chosen_config(const ConfigChoice& choice);

/// Makes a folder for a verb's output, and those above it.
/// errors: no_input
Result<void> make_folder(const std::string& path);

/// What a YAML or JSON file of this program is for, recognised by its top-level keys.
enum class FileKind { configuration, engines, templates, model };

/// errors: bad_config for a file that is not YAML; those of reading it
Result<FileKind> kind_of_file(const std::string& path);

/// Reads a configuration file and overrides it from the environment: METAFUSE_LISTEN, METAFUSE_STORE,
/// METAFUSE_MODELS and METAFUSE_REDIS each replace the key of the same name. `listen` (a command-line option)
/// overrides both.
///
/// errors: those of the file; for a file of another kind, bad_config says which kind it is
Result<service::ServerConfig> read_server_configuration(const std::string& path,
                                                        const std::string& listen = "");

/// errors: bad_config: searching needs a key, and no valid key may search
Result<void> check_search_keys(const service::ServerConfig& config);

/// The same as a warning, and the keys that have expired.
std::vector<std::string> key_warnings(const service::ServerConfig& config);

/// The engines that a server configuration or an engines file defines.
struct Definitions {
  std::vector<fetchers::Engine> engines;
  std::map<std::string, std::string> file_of;  ///< the file of each engine
  std::vector<std::string> allow_private;
  std::string profiles;  ///< engine_health.file; empty for none
};

/// errors: those of the files
Result<Definitions> read_definitions(const std::string& path);

/// Loads the engines of a configuration, replacing "${NAME}" in an engine file by environment_secret(NAME).
service::LoadEngines engine_loader();

/// The value of "${name}" in an engine file: the content of the file of that name in $CREDENTIALS_DIRECTORY
/// (which systemd sets), else the environment variable; nullopt if there is neither.
std::optional<std::string> environment_secret(std::string_view name);

/// The time of the system's clock, in seconds since 1970.
std::int64_t seconds_now();

/// Loads MPI for the rest of the process, from the program's own folder or, when installed,
/// from lib/metafuse.
///
/// errors: unavailable: the module or an MPI library is missing
Result<fusion::MpiModule> load_mpi();

}  // namespace metafuse::cli
