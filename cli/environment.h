#pragma once

// What the program takes from its surroundings: environment variables, files where one expects them, and the
// module for MPI beside it. The libraries never look there themselves.

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "fusion/mpi/mpi_module.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

namespace metafuse::cli {

/// Which server configuration, as it is typed.
struct ConfigChoice {
  std::string file;
  bool is_verbose = false;
};

/// Adds --config and --verbose.
void add_config_option(CLI::App& verb, ConfigChoice& choice,
                       const char* meaning = "server configuration (YAML)");

/// The configuration file: the one that was given, else METAFUSE_CONFIG, ./metafuse.yaml,
/// $XDG_CONFIG_HOME/metafuse/metafuse.yaml (~/.config without it), /etc/metafuse/metafuse.yaml, the first
/// that is there. With --verbose it is named on standard error.
///
/// errors: usage: there is none
Result<std::string> chosen_config(const ConfigChoice& choice);

/// What a YAML or JSON file of this program is, by the keys at its top.
enum class FileKind { configuration, engines, templates, model };

/// errors: bad_config for a file that is no YAML; those of reading it
Result<FileKind> kind_of_file(const std::string& path);

/// A configuration file under what the environment says: METAFUSE_LISTEN, METAFUSE_STORE, METAFUSE_MODELS,
/// METAFUSE_REDIS, each like the key of the same name; `listen` (a flag) wins over both.
///
/// errors: of the file; bad_config says of a file of another kind which kind it is
Result<service::ServerConfig> read_server_configuration(const std::string& path,
                                                        const std::string& listen = "");

/// The engines of a configuration; "${NAME}" in an engine file is the environment's variable NAME.
service::LoadEngines engine_loader();

/// The value of "${name}" in an engine file: the file of that name in $CREDENTIALS_DIRECTORY (as systemd sets
/// it), else the environment variable; nothing when neither is there.
std::optional<std::string> environment_secret(std::string_view name);

/// Loads MPI for the rest of the process, from the program's own folder or, installed, from lib/metafuse.
///
/// errors: unavailable: the module or a library of MPI is missing
Result<fusion::MpiModule> load_mpi();

}  // namespace metafuse::cli
