#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/environment.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "service/store/store.h"

namespace metafuse::cli {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

struct StoreArguments {
  std::string store;    ///< a file or postgresql://...
  ConfigChoice config;  ///< or the configuration that names it
  std::string domain;
  double days = 0;
  bool clicks = false;
  bool judgments = false;
};

/// The store that the arguments name; it must be there already.
Result<std::unique_ptr<service::Store>> open(const StoreArguments& arguments, service::StoreMode mode) {
  std::string location = arguments.store;
  if (!location.empty() && !arguments.config.file.empty())
    return fail(Code::usage, "give one of --store FILE and --config FILE");
  if (location.empty()) {
    TRY(const auto file, chosen_config(arguments.config));
    TRY(const auto config, read_server_configuration(file));
    if (config.store.empty()) return fail(Code::bad_config, file + ": has no store; add store: FILE");
    location = config.store;
  }
  // Opened to write, a file that is not there would be made.
  auto store = service::open_store(location, service::StoreMode::read);
  if (!store || mode == service::StoreMode::read) return store;
  store->reset();
  return service::open_store(location, mode);
}

Result<void> export_store(const StoreArguments& arguments) {
  TRY(const auto store, open(arguments, service::StoreMode::read));
  return store->export_lines([](std::string_view line) -> Result<void> {
    if (std::cout << line << '\n') return {};
    return fail(Code::try_again, "standard output: cannot write; is the disk full?");
  });
}

/// The database's own check, and every row read once.
Result<void> check_store(const StoreArguments& arguments) {
  TRY(const auto store, open(arguments, service::StoreMode::read));
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

Result<void> prune_store(const StoreArguments& arguments) {
  TRY(const auto store, open(arguments, service::StoreMode::serve));
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const auto kept = static_cast<std::int64_t>(arguments.days * static_cast<double>(kSecondsPerDay));
  TRY(const auto removed, store->remove_before(static_cast<service::UnixTime>(now) - kept));
  std::cout << "removed " << removed.searches << " searches and " << removed.clicks << " clicks\n";
  return {};
}

Result<void> reset_store(const StoreArguments& arguments) {
  if (!arguments.clicks && !arguments.judgments)
    return fail(Code::usage, "give --clicks, --judgments or both: what to forget");
  TRY(const auto store, open(arguments, service::StoreMode::serve));
  TRY(const auto removed, store->reset_feedback(arguments.domain, arguments.clicks, arguments.judgments));
  std::cout << "removed " << removed.clicks << " clicks and " << removed.judgments << " judgments of "
            << arguments.domain << '\n';
  return {};
}

using RunStore = Result<void> (*)(const StoreArguments& arguments);

/// One verb below `store`, with the options that name the store.
Verb<StoreArguments> add_store_verb(CLI::App& store, const char* name, const char* meaning, RunStore run,
                                    Result<void>& outcome) {
  const auto verb = add_verb(store, name, meaning, run, outcome);
  verb.app.add_option("--store", verb.arguments.store, "SQLite file or postgresql://...");
  add_config_option(verb.app, verb.arguments.config, "server configuration that names the store");
  return verb;
}

}  // namespace

void add_store(CLI::App& app, Result<void>& outcome) {
  CLI::App* store = app.add_subcommand("store", "look after what a server remembers")->require_subcommand(1);
  add_store_verb(*store, "export", "everything but secrets as JSON lines; beside a running server too",
                 export_store, outcome)
      .app.footer("Example:\n  metafuse store export --store state/metafuse.db | gzip > feedback.jsonl.gz");
  add_store_verb(*store, "check", "the database's own check, and every row read; beside a running server too",
                 check_store, outcome)
      .app.footer("Example:\n  metafuse store check --config config/metafuse.yaml");
  auto [prune, kept] = add_store_verb(*store, "prune", "remove searches and clicks older than some days",
                                      prune_store, outcome);
  prune.add_option("--days", kept.days, "what is younger stays; judgments stay always")
      ->required()
      ->check(CLI::Range(0.0, 36500.0));
  prune.footer(
      "A server does this by itself (privacy.retention_days). An SQLite file must not be served meanwhile.\n"
      "Example:\n  metafuse store prune --store state/metafuse.db --days 30");
  auto [reset, a] =
      add_store_verb(*store, "reset", "forget a domain's clicks, judgments or both", reset_store, outcome);
  reset.add_option("--domain", a.domain, "whose feedback is forgotten")->required();
  reset.add_flag("--clicks", a.clicks, "forget the clicks");
  reset.add_flag("--judgments", a.judgments, "forget the judgments");
  reset.footer(
      "An SQLite file must not be served meanwhile; POST /v1/models/DOMAIN/reset does the same in the "
      "server.\n"
      "Example:\n  metafuse store reset --store state/metafuse.db --domain ml-homepages --clicks "
      "--judgments");
}

}  // namespace metafuse::cli
