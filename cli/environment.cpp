#include "cli/environment.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/module.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/engine_file.h"
#include "service/config/engines.h"

namespace metafuse::cli {
namespace {

constexpr std::size_t kMaxSecretBytes = 64 * 1024;
constexpr const char* kMpiFile = "metafuse_mpi.so";

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// The places where a configuration is looked for if none is named, in order.
std::vector<std::string> usual_places() {
  std::vector<std::string> places = {"metafuse.yaml"};
  if (const auto folder = environment("XDG_CONFIG_HOME"))
    places.push_back(*folder + "/metafuse/metafuse.yaml");
  else if (const auto home = environment("HOME"))
    places.push_back(*home + "/.config/metafuse/metafuse.yaml");
  places.emplace_back("/etc/metafuse/metafuse.yaml");
  return places;
}

Result<void> set_listen(const std::string& text, const std::string& where, service::ServerConfig& config) {
  const auto listen = service::parse_listen(text);
  if (!listen) return fail(Code::usage, where + ": " + listen.error().text);
  config.listen_host = listen->host;
  config.port = listen->port;
  return {};
}

std::string what_it_is(FileKind kind) {
  if (kind == FileKind::engines) return "defines engines; see metafuse engines check";
  if (kind == FileKind::templates) return "holds search templates; see metafuse templates check";
  return "is a model; see metafuse model show";
}

Error no_mpi(const std::string& why) {
  return fail(Code::unavailable,
              fmt::format("mpirun started this process, and {}; build with OpenMPI installed and keep {} "
                          "beside the program, or run without mpirun",
                          why, kMpiFile));
}

}  // namespace

void add_config_option(CLI::App& verb, ConfigChoice& choice, const char* meaning) {
  verb.add_option("--config", choice.file,
                  std::string(meaning) +
                      "; default: METAFUSE_CONFIG, ./metafuse.yaml, ~/.config/metafuse/metafuse.yaml, "
                      "/etc/metafuse/metafuse.yaml");
  verb.add_flag("--verbose", choice.is_verbose, "print which configuration is used");
}

Result<std::string> chosen_config(const ConfigChoice& choice) {
  std::string chosen = choice.file;
  if (chosen.empty()) chosen = environment("METAFUSE_CONFIG").value_or("");
  if (chosen.empty()) {
    const std::vector<std::string> places = usual_places();
    const auto is_there = [](const std::string& path) {
      std::error_code error;
      return std::filesystem::exists(path, error);
    };
    const auto found = std::find_if(places.begin(), places.end(), is_there);
    if (found == places.end())
      return fail(
          Code::usage,
          fmt::format("no configuration found; metafuse init FOLDER makes one; or give --config FILE, set "
                      "METAFUSE_CONFIG, or create one of {}",
                      fmt::join(places, ", ")));
    chosen = *found;
  }
  if (choice.is_verbose) std::cerr << "metafuse: configuration " << chosen << '\n';
  return chosen;
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(Code::no_input, path + ": " + error.message() + "; name a writable folder");
  return {};
}

Result<FileKind> kind_of_file(const std::string& path) {
  TRY(const auto root, read_yaml(path));
  const auto holds_maps = [&](const char* key) {
    const YamlNode* node = root.find(key);
    return node != nullptr && node->is_list() && !node->items.empty() && node->items.front().is_map();
  };
  if (root.find("learner") != nullptr) return FileKind::model;
  if (root.find("domain") != nullptr || holds_maps("templates")) return FileKind::templates;
  return holds_maps("engines") ? FileKind::engines : FileKind::configuration;
}

Result<service::ServerConfig> read_server_configuration(const std::string& path, const std::string& listen) {
  auto config = service::read_config(path);
  if (!config) {
    const auto kind = kind_of_file(path);
    if (!kind || *kind == FileKind::configuration) return config.error();
    return fail(Code::bad_config, path + ": is not a server configuration; it " + what_it_is(*kind));
  }
  if (const auto store = environment("METAFUSE_STORE")) config->store = *store;
  if (const auto models = environment("METAFUSE_MODELS")) config->models = *models;
  if (const auto redis = environment("METAFUSE_REDIS")) config->cache.redis = *redis;
  const auto from_environment = environment("METAFUSE_LISTEN");
  if (!listen.empty()) {
    TRY_VOID(set_listen(listen, "--listen", *config));
  } else if (from_environment) {
    TRY_VOID(set_listen(*from_environment, "METAFUSE_LISTEN", *config));
  }
  return config;
}

Result<Definitions> read_definitions(const std::string& path) {
  TRY(const auto kind, kind_of_file(path));
  Definitions definitions;
  std::vector<std::string> files = {path};
  if (kind != FileKind::engines) {
    TRY(auto config, read_server_configuration(path));
    files = config.engines;
    definitions.allow_private = config.allow_private;
    definitions.profiles = config.engine_health.file;
  }
  for (const std::string& file : files) {
    TRY(auto read, fetchers::read_engine_file(file));
    for (fetchers::Engine& engine : read.engines) {
      definitions.file_of.emplace(engine.name, file);
      definitions.engines.push_back(std::move(engine));
    }
  }
  return definitions;
}

service::LoadEngines engine_loader() {
  return [earlier = std::make_shared<fetchers::EarlierFetchers>()](const service::ServerConfig& config) {
    return service::load_engines(config, environment_secret, earlier);
  };
}

std::optional<std::string> environment_secret(std::string_view name) {
  const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!is_word) return std::nullopt;
  if (const char* folder = std::getenv("CREDENTIALS_DIRECTORY")) {
    const auto path = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(path))
      if (auto text = read_text(path.string(), kMaxSecretBytes)) {
        while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
        return *text;
      }
  }
  if (const char* value = std::getenv(std::string(name).c_str())) return std::string(value);
  return std::nullopt;
}

Result<void> check_search_keys(const service::ServerConfig& config) {
  const bool may_search = std::ranges::any_of(config.keys, [](const service::KeyConfig& key) {
    return !key.has_expired(seconds_now()) &&
           (key.has(service::Role::search) || key.has(service::Role::admin));
  });
  if (may_search || !config.needs_key) return {};
  return fail(Code::bad_config,
              config.file +
                  ": needs_key: true, but no valid key has the role search, so that nobody can "
                  "search; make one: metafuse key new NAME --role search");
}

std::vector<std::string> key_warnings(const service::ServerConfig& config) {
  std::vector<std::string> out;
  for (const service::KeyConfig& key : config.keys)
    if (key.has_expired(seconds_now()))
      out.push_back(fmt::format("{}: the key {} has expired on {}; remove it, or give it a later day",
                                key.place, key.name, key.expires));
  if (const auto checked = check_search_keys(config); !checked) out.push_back(checked.error().text);
  return out;
}

std::int64_t seconds_now() {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

Result<fusion::MpiModule> load_mpi() {
  const auto module = load_module(kMpiFile, fusion::kMpiModuleSymbol);
  if (!module) return no_mpi(module.error().text);
  return *static_cast<const fusion::MpiModule*>(*module);
}

}  // namespace metafuse::cli
