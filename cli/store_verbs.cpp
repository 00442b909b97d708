// The verbs on a server's store, `metafuse store VERB`: export, check, import, prune, reset, push, pull.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "service/base/dates.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/recording.h"
#include "service/learning/records.h"
#include "service/store/mirror.h"
#include "service/store/store.h"

namespace metafuse::cli {
namespace {

/// How the user named the store.
struct StoreChoice {
  std::string store;    ///< a file or postgresql://...
  ConfigChoice config;  ///< or the configuration that names the store
};

/// Where a store is.
struct StorePlace {
  std::string location;
  std::string secret_file;
  bool are_queries_hashed = false;  ///< the configuration says so
};

Result<StorePlace> place_of(const StoreChoice& choice) {
  if (!choice.store.empty() && !choice.config.file.empty())
    return fail(Code::usage, "give one of --store FILE and --config FILE");
  if (!choice.store.empty()) return StorePlace{choice.store, "", false};
  TRY(const auto file, chosen_config(choice.config));
  TRY(const auto config, read_server_configuration(file));
  if (config.store.empty()) return fail(Code::bad_config, file + ": has no store; add store: FILE");
  return StorePlace{config.store, config.store_secret, config.privacy.hash_queries};
}

/// Opens the store, which must already exist.
Result<std::unique_ptr<service::Store>> open(const StoreChoice& choice, service::StoreMode mode) {
  TRY(const auto place, place_of(choice));
  // Open it for reading first: opening a missing file for writing would create it.
  auto store = service::open_store(place.location, service::StoreMode::read, place.secret_file);
  if (!store || mode == service::StoreMode::read) return store;
  store->reset();
  return service::open_store(place.location, mode, place.secret_file);
}

/// Adds --store, --config and --verbose.
void add_store_options(CLI::App& verb, StoreChoice& choice) {
  verb.add_option("--store", choice.store, "SQLite file or postgresql://...");
  add_config_option(verb, choice.config, "server configuration that names the store");
}

Result<void> export_store(const StoreChoice& choice) {
  TRY(const auto store, open(choice, service::StoreMode::read));
  return store->export_lines([](std::string_view line) -> Result<void> {
    if (std::cout << line << '\n') return {};
    return fail(Code::try_again, "standard output: cannot write; is the disk full?");
  });
}

/// Runs the database's own check and reads every row once.
Result<void> check_store(const StoreChoice& choice) {
  TRY(const auto store, open(choice, service::StoreMode::read));
  TRY_VOID(store->check());
  std::map<std::string, std::uint64_t> counts = {
      {"search", 0}, {"click", 0}, {"judgment", 0}, {"template", 0}};
  TRY_VOID(store->export_lines([&](std::string_view line) -> Result<void> {
    TRY(const auto value, parse_json(line, "export"));
    ++counts[std::string(value.at("kind").as_string())];
    return {};
  }));
  std::cout << fmt::format("sound: {} searches, {} clicks, {} judgments, {} template versions\n",
                           counts["search"], counts["click"], counts["judgment"], counts["template"]);
  return {};
}

void add_export(CLI::App& app, Program& program) {
  auto [verb, choice] =
      add_verb(app, "export", "write everything except secrets as JSON lines; also while a server is running",
               export_store, program);
  add_store_options(verb, choice);
  verb.footer("Example:\n  metafuse store export --store state/metafuse.db | gzip > feedback.jsonl.gz");
}

void add_check(CLI::App& app, Program& program) {
  auto [verb, choice] = add_verb(
      app, "check", "run the database's own check and read every row; also while a server is running",
      check_store, program);
  add_store_options(verb, choice);
  verb.footer("Example:\n  metafuse store check --config config/metafuse.yaml");
}

struct PruneArguments {
  StoreChoice store;
  double days = 0;
};

Result<void> prune_store(const PruneArguments& arguments) {
  TRY(const auto store, open(arguments.store, service::StoreMode::serve));
  const auto kept = static_cast<std::int64_t>(arguments.days * static_cast<double>(service::kSecondsPerDay));
  const service::UnixTime now = seconds_now();
  TRY_VOID(store->privacy.forget_addresses(service::day_of(now)));
  TRY(const auto removed, store->remove_before(now - kept));
  std::cout << "removed " << removed.searches << " searches and " << removed.clicks << " clicks\n";
  return {};
}

void add_prune(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "prune", "remove searches and clicks older than some days", prune_store, program);
  add_store_options(verb, a.store);
  verb.add_option("--days", a.days, "remove searches and clicks older than this; judgments are never removed")
      ->required()
      ->check(CLI::Range(0.0, 36500.0));
  verb.footer(
      "Hashes of address prefixes from before yesterday are forgotten, too. A server does this by itself "
      "(privacy.retention_days). Stop the server of an SQLite file first.\n"
      "Example:\n  metafuse store prune --store state/metafuse.db --days 30");
}

struct ResetArguments {
  StoreChoice store;
  std::string domain;
  bool clicks = false;
  bool judgments = false;
};

Result<void> reset_store(const ResetArguments& arguments) {
  if (!arguments.clicks && !arguments.judgments)
    return fail(Code::usage, "say what to forget: --clicks, --judgments or both");
  TRY(const auto store, open(arguments.store, service::StoreMode::serve));
  TRY(const auto removed, store->reset_feedback(arguments.domain, arguments.clicks, arguments.judgments));
  std::cout << "removed " << removed.clicks << " clicks and " << removed.judgments << " judgments of "
            << arguments.domain << '\n';
  return {};
}

void add_reset(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "reset", "forget a domain's clicks, judgments or both", reset_store, program);
  add_store_options(verb, a.store);
  verb.add_option("--domain", a.domain, "domain whose feedback is forgotten")->required();
  verb.add_flag("--clicks", a.clicks, "forget the clicks");
  verb.add_flag("--judgments", a.judgments, "forget the judgments");
  verb.footer(
      "Stop the server of an SQLite file first; POST /v1/models/DOMAIN/reset does the same in the server.\n"
      "Example:\n  metafuse store reset --store state/metafuse.db --domain ml-homepages --clicks "
      "--judgments");
}

struct ImportArguments {
  StoreChoice store;
  std::string lines;  ///< a file written by store export
  service::OfflineFiles files;
  std::string queries;    ///< JSON lines, in the format of `record`
  std::string recording;  ///< the folder written by `record`
  std::string judge = "import";
  std::string plain_slot;
};

/// The base queries that the ids of runs and qrels stand for.
Result<std::map<std::string, BaseQuery>> base_queries(const std::string& path) {
  std::map<std::string, BaseQuery> out;
  if (path.empty()) return out;
  TRY(const auto queries, service::read_judged_queries(path));
  for (const auto& query : queries) out[query.id] = query.slots;
  return out;
}

service::UnixTime time_written(const std::string& path) {
  std::error_code error;
  const auto at = std::filesystem::last_write_time(path, error);
  const auto moment = std::chrono::file_clock::to_sys(at);
  return error ? 0 : std::chrono::duration_cast<std::chrono::seconds>(moment.time_since_epoch()).count();
}

/// The runs and qrels that are imported: those that were named, or those of a recording; none for an export.
Result<service::OfflineFiles> offline_files(const ImportArguments& arguments) {
  service::OfflineFiles files = arguments.files;
  if (!arguments.recording.empty()) {
    files.qrels = arguments.recording + "/qrels";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(arguments.recording + "/runs", error))
      files.runs.push_back(entry.path().stem().string() + "=" + entry.path().string());
    if (error || files.runs.empty())
      return fail(Code::no_input,
                  arguments.recording + ": not a recording; name the folder that metafuse record wrote");
    std::sort(files.runs.begin(), files.runs.end());
  }
  const bool has_files = !files.runs.empty() || !files.qrels.empty();
  if (has_files == !arguments.lines.empty() || files.runs.empty() != files.qrels.empty() ||
      (!arguments.recording.empty() && !arguments.files.runs.empty()))
    return fail(Code::usage, "give one of FILE.jsonl, --runs with --qrels, and --recording");
  if (has_files && files.domain.empty())
    return fail(Code::usage, "give the domain of the judgments with --domain");
  TRY(files.queries, base_queries(arguments.queries));
  return files;
}

Result<service::ImportReport> import_files(service::Store& store, const ImportArguments& arguments,
                                           const service::OfflineFiles& files,
                                           service::StoreIdentity identity) {
  std::string plain_slot(identity.plain_slot);
  if (plain_slot.empty()) {
    TRY(plain_slot, store.privacy.plain_slot(files.domain));
  }
  identity.plain_slot = plain_slot;
  const auto at = time_written(files.qrels);
  TRY(const auto queries, service::read_offline_queries(files, identity, at));
  return service::import_offline_queries(store, queries, arguments.judge, at);
}

Result<void> import_store(const ImportArguments& arguments) {
  TRY(const auto files, offline_files(arguments));
  service::ExportedLines exported;
  if (!arguments.lines.empty()) {  // before the store is opened: a mistyped name should not make one
    TRY(exported, service::read_exported_lines(arguments.lines, files.domain));
  }
  TRY(const auto place, place_of(arguments.store));
  TRY(const auto store, service::open_store(place.location, service::StoreMode::serve, place.secret_file));
  TRY(const std::string secret, store->privacy.secret());
  TRY(const bool are_hidden, store->privacy.are_queries_hidden());
  const service::StoreIdentity identity{secret, are_hidden || place.are_queries_hashed, arguments.plain_slot};
  TRY(const auto report, files.runs.empty() ? service::import_lines(*store, std::move(exported), identity)
                                            : import_files(*store, arguments, files, identity));
  std::cout << report.text() << '\n';
  return {};
}

void add_import(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "import", "add judgments from elsewhere: an export, TREC runs and qrels, or a recording",
               import_store, program);
  add_store_options(verb, a.store);
  verb.add_option("FILE", a.lines, "JSON lines of store export");
  verb.add_option("--domain", a.files.domain, "domain of the judgments; default: all domains of FILE");
  verb.add_option("--runs", a.files.runs, "TREC runs, one per list; the tag is the list's name");
  verb.add_option("--qrels", a.files.qrels, "their judgments");
  verb.add_option("--recording", a.recording, "folder that metafuse record wrote");
  verb.add_option("--queries", a.queries,
                  "base queries of the topic ids: JSON lines as metafuse record reads them");
  verb.add_option("--judge", a.judge, "judge's name in the store");
  verb.add_option("--plain-slot", a.plain_slot,
                  "the domain's slot that plain queries fill; default: the one that its server stored");
  verb.add_option("--depth", a.files.depth, "how far down lists count; 0 for all")
      ->check(CLI::Range(0, 100000));
  verb.footer(
      "If a judge graded a document twice, the newer grade wins (a file's grades have its modification "
      "time); conflicts are listed. A store that does not exist is created. Stop the server of an SQLite "
      "file "
      "first.\n"
      "Example:\n  metafuse store import --store state/metafuse.db feedback.jsonl\n"
      "Example:\n  metafuse store import --store state/metafuse.db --domain support --runs runs/*.run "
      "--qrels qrels --queries queries.jsonl");
}

struct MoveArguments {
  ConfigChoice config;
  bool is_forced = false;
};

using MoveShared = Result<service::Mirror::Changes> (service::Mirror::*)(bool is_forced);

/// Moves shared files: `store push` sends this machine's templates and models to the store, `store pull`
/// fetches the store's.
Result<void> move_shared(const MoveArguments& arguments, MoveShared move) {
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  if (!service::is_postgres_url(config.store))
    return fail(Code::bad_config, file +
                                      ": only a store in PostgreSQL shares templates and models; store is " +
                                      (config.store.empty() ? "not set" : config.store));
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  TRY(const auto store, service::open_store(config.store, service::StoreMode::serve, config.store_secret));
  service::Mirror mirror(store->shared, service::shared_places(*snapshot));
  TRY(const auto changes, (mirror.*move)(arguments.is_forced));
  for (const std::string& name : changes.sent) std::cout << "sent   " << name << '\n';
  for (const std::string& name : changes.taken) std::cout << "taken  " << name << '\n';
  for (const std::string& path : changes.set_aside) std::cout << "kept   " << path << '\n';
  if (changes.empty()) std::cout << "nothing differs\n";
  return {};
}

Result<void> push_store(const MoveArguments& arguments) {
  return move_shared(arguments, &service::Mirror::push);
}

Result<void> pull_store(const MoveArguments& arguments) {
  return move_shared(arguments, &service::Mirror::pull);
}

void add_push_and_pull(CLI::App& app, Program& program) {
  const auto push =
      add_verb(app, "push", "send this machine's templates and models to the store that servers share",
               push_store, program);
  const auto pull = add_verb(app, "pull", "take templates and models from the store that servers share",
                             pull_store, program);
  for (const auto& [verb, a] : {push, pull}) {
    add_config_option(verb, a.config, "server configuration with a store in PostgreSQL");
    verb.add_flag("--force", a.is_forced,
                  verb.get_name() == "push"
                      ? "also send files that others changed in the meantime"
                      : "also replace files that were edited here; they are kept as FILE.mine");
    verb.footer(
        "Servers of one PostgreSQL store share templates and models through it: what one changes, all others "
        "take within a second. These verbs are for files that were edited by hand.\n"
        "Example:\n  metafuse store " +
        verb.get_name() + " --config metafuse.yaml");
  }
}

}  // namespace

void add_store(CLI::App& app, Program& program) {
  CLI::App* store =
      app.add_subcommand("store", "export, check, import, share, prune and reset what a server stores")
          ->require_subcommand(1);
  for (const AddVerb add : {add_export, add_check, add_import, add_push_and_pull, add_prune, add_reset})
    add(*store, program);
}

}  // namespace metafuse::cli
