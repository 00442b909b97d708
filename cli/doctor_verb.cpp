// The verb `doctor`: reports what keeps an installation from serving.

#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "fetchers/calling/trial.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/config/snapshot.h"
#include "service/store/store.h"

namespace metafuse::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoDomain =
    "no domain yet: metafuse init --system --documents FOLDER makes one of your documents";

struct DoctorArguments {
  ConfigChoice config;
};

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// One check of doctor: reports what it found, or what is wrong and how to fix it.
struct Check {
  const char* name;
  std::function<Result<std::string>()> look;
};

/// Whether files can be written into a folder.
Result<void> check_folder(const fs::path& folder, const char* key) {
  std::error_code error;
  if (!fs::exists(folder, error))
    return fail(Code::no_input, fmt::format("{0}: the folder does not exist; make it: mkdir -p {1}",
                                            folder.string(), shell_word(folder.string())));
  if (!fs::is_directory(folder, error))
    return fail(Code::no_input,
                fmt::format("{}: is not a folder; move it away, or change `{}` in the configuration",
                            folder.string(), key));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(Code::no_input,
                fmt::format("{}: this user may not write there; change the owner, or `{}` in the "
                            "configuration",
                            folder.string(), key));
  return {};
}

Result<std::string> look_at_models(const std::string& folder) {
  if (folder.empty()) return std::string("none in this configuration");
  TRY_VOID(check_folder(folder, "models"));
  return folder;
}

/// Whether a server of this program already serves where the configuration says.
bool is_serving(const service::ServerConfig& config) {
  const bool is_any = config.listen_host == "0.0.0.0" || config.listen_host == "::";
  const std::string host = is_any ? "127.0.0.1" : config.listen_host;
  const bool is_bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  const auto answer = fetchers::fetch_page(
      fmt::format("http://{}:{}/readyz", is_bare_v6 ? '[' + host + ']' : host, config.port));
  return answer && answer->body.starts_with("ready\n");
}

/// Reads an existing store as a server would, and changes nothing.
Result<void> check_store_file(const std::string& path, const std::string& secret_file) {
  std::error_code error;
  const std::string secret = secret_file.empty() ? path + ".secret" : secret_file;
  if (fs::exists(path + ".lock", error))
    TRY_VOID(FileLock::take(path + ".lock",
                            "another server uses this store; if it is not the one of this configuration, "
                            "stop it, or change `store`"));
  if (fs::file_size(path, error) == 0 || error) return {};  // made at the first start
  TRY(const auto store, service::open_store(path, service::StoreMode::read, secret_file));
  TRY_VOID(store->check());
  if (fs::exists(secret, error)) TRY_VOID(store->privacy.secret());
  return {};
}

Result<std::string> look_at_store(const service::ServerConfig& config) {
  if (config.store.empty()) return std::string("none in this configuration");
  if (service::is_postgres_url(config.store)) {
    TRY_VOID(service::open_postgres(config.store));
    return std::string("PostgreSQL answers");
  }
  const fs::path folder = fs::path(config.store).parent_path();
  TRY_VOID(check_folder(folder.empty() ? fs::path(".") : folder, "store"));
  const auto checked = check_store_file(config.store, config.store_secret);
  if (!checked && checked.error().code == Code::unavailable && is_serving(config))
    return config.store + " is in use by the server that runs";
  TRY_VOID(checked);
  return config.store;
}

Result<std::string> look_at_port(const service::ServerConfig& config) {
  const std::string shown = fmt::format("{}:{}", config.listen_host, config.port);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed =
          ::getaddrinfo(config.listen_host.c_str(), std::to_string(config.port).c_str(), &hints, &found);
      failed != 0)
    return fail(Code::unavailable, fmt::format("{}: {}; correct `listen`", shown, ::gai_strerror(failed)));
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int bound = socket < 0 ? -1 : ::bind(socket, found->ai_addr, found->ai_addrlen);
  const int number = errno;
  ::freeaddrinfo(found);
  if (socket >= 0) ::close(socket);
  if (bound == 0) return shown + " is free";
  if (number == EADDRINUSE && is_serving(config)) return "metafuse serves at " + shown;
  return fail(Code::unavailable,
              fmt::format("{}: {}; if metafuse is not already serving there, change `listen`", shown,
                          std::generic_category().message(number)));
}

/// The index file that an engine searches within this process; empty for other engines.
std::string index_of(const fetchers::Engine& engine) {
  if (const auto* local = std::get_if<fetchers::LocalAccess>(&engine.access)) return local->database;
  if (const auto* vectors = std::get_if<fetchers::VectorAccess>(&engine.access)) return vectors->database;
  if (const auto* cosine = std::get_if<fetchers::CosineAccess>(&engine.access)) return cosine->database;
  return {};
}

Result<std::string> look_at_indexes(const service::ServerConfig& config) {
  std::set<std::string> indexes;
  for (const std::string& file : config.engines) {
    TRY(const auto engines, fetchers::read_engine_file(file));
    for (const fetchers::Engine& engine : engines.engines)
      if (const std::string index = index_of(engine); !index.empty() && !engine.is_disabled)
        indexes.insert(index);
  }
  for (const std::string& index : indexes) TRY_VOID(fetchers::check_index(index));
  return indexes.empty() ? std::string("none in this configuration")
                         : fmt::format("{} can be searched", indexes.size());
}

Result<std::string> look_at_shared_files(const service::ServerConfig& config) {
  for (const std::string& folder : config.files)
    if (::access(folder.c_str(), R_OK | X_OK) != 0)
      return fail(Code::no_input, folder +
                                      ": this user may not read it, so results there do not open; change the "
                                      "permissions, or `files` in the configuration");
  return config.files.empty()
             ? std::string("results that are files cannot be opened from the page")
             : "those below " + counted(config.files.size(), "folder") + " can be opened from the page";
}

/// Too few are no error: the server still serves, and refuses connections above the limit.
Result<std::string> look_at_open_files(const service::ServerConfig& config) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t wanted = config.limits.max_connections + 256;
  if (limit.rlim_cur >= wanted) return fmt::format("{} allowed, at most {} needed", limit.rlim_cur, wanted);
  return fmt::format(
      "{} allowed, enough for {} connections at once (limits.max_connections allows {}: ulimit -n {})",
      limit.rlim_cur, limit.rlim_cur > 256 ? limit.rlim_cur - 256 : 0, config.limits.max_connections, wanted);
}

Result<std::string> look_at_clock() {
  constexpr std::int64_t kBuilt = 1735689600;  // 2025-01-01, before this program existed
  if (seconds_now() < kBuilt)
    return fail(Code::unavailable,
                "the clock shows a date before 2025; set it, because quotas and clicks depend on it");
  return std::string("plausible");
}

Result<std::string> look_at_key_file(const std::string& configuration) {
  const fs::path path = fs::path(configuration).parent_path() / "admin.key";
  std::error_code error;
  const fs::perms perms = fs::status(path, error).permissions();
  if (error || !fs::exists(path, error)) return std::string("no admin.key beside the configuration");
  if ((perms & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none)
    return fail(Code::no_input, fmt::format("{}: others may read it; run: chmod 600 {}", path.string(),
                                            shell_word(path.string())));
  return path.string() + " is readable only by its owner";
}

/// Expired keys are named, but are no failure while another key may search.
Result<std::string> look_at_keys(const service::ServerConfig& config) {
  TRY_VOID(check_search_keys(config));
  std::string found =
      counted(config.keys.size(), "key") + (config.needs_key ? ", without which nobody searches" : "");
  for (const std::string& expired : key_warnings(config)) found += '\n' + expired;
  return found;
}

/// The further lines of a text below the first one, as doctor's table has them.
std::string indented(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\n" + std::string(22, ' ') : std::string(1, c);
  return out;
}

Result<void> run_doctor(const DoctorArguments& arguments) {
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  const std::vector<Check> checks = {
      {"configuration", [&]() -> Result<std::string> { return file; }},
      {"what it names",
       [&]() -> Result<std::string> {
         TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
         if (snapshot->domains.empty()) return std::string(kNoDomain);
         return counted(snapshot->domains.size(), "domain") + ", " +
                counted(snapshot->engines.names.size(), "engine");
       }},
      {"indexes", [&] { return look_at_indexes(config); }},
      {"files", [&] { return look_at_shared_files(config); }},
      {"store", [&] { return look_at_store(config); }},
      {"models", [&] { return look_at_models(config.models); }},
      {"port", [&] { return look_at_port(config); }},
      {"open files", [&] { return look_at_open_files(config); }},
      {"clock", [] { return look_at_clock(); }},
      {"key", [&] { return look_at_key_file(file); }},
      {"keys", [&] { return look_at_keys(config); }},
  };
  std::size_t failed = 0;
  for (const Check& check : checks) {
    const auto found = check.look();
    failed += found ? 0 : 1;
    std::cout << fmt::format("{} {:<14} {}\n",
                             found ? styled(STDOUT_FILENO, Style::good, "good  ")
                                   : styled(STDOUT_FILENO, Style::failure, "WRONG "),
                             check.name, indented(found ? *found : found.error().text));
  }
  if (failed == 0) return {};
  return fail(Code::unavailable,
              fmt::format("{} of {} checks failed; each line says what to do", failed, checks.size()));
}

}  // namespace

void add_doctor(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "doctor", "report what keeps an installation from serving", run_doctor, program);
  add_config_option(verb, a.config);
  verb.footer("Example:\n  metafuse doctor --config /etc/metafuse/metafuse.yaml");
}

}  // namespace metafuse::cli
