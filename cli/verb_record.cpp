#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "cli/secrets.h"
#include "cli/verbs.h"
#include "core/file_lock.h"
#include "service/config/engines.h"
#include "service/recording/record_lists.h"

namespace metafuse::cli {
namespace {

struct RecordArguments {
  std::string config;
  std::string queries;
  service::RecordOptions options;
};

void print(const service::RecordReport& report, const RecordArguments& arguments) {
  std::cout << arguments.options.output << ": " << report.queries << " base queries, " << report.resumed
            << " of them from an earlier run, " << report.failed_lists << " lists failed, "
            << report.unanswerable << " without an answer in any list\n";
  for (const std::string& failure : report.failures) std::cerr << "metafuse: " << failure << '\n';
  if (report.failed_lists > 0)
    std::cerr << "metafuse: run the same command again to ask once more for the lists that failed\n";
}

Result<void> run_record(RecordArguments& arguments) {
  TRY(auto config, service::read_config(arguments.config));
  TRY(auto queries, service::read_judged_queries(arguments.queries, config.tracking));
  std::error_code error;
  std::filesystem::create_directories(arguments.options.output, error);
  if (error)
    return fail(Code::no_input,
                arguments.options.output + ": " + error.message() + "; name a writable folder");
  TRY(auto lock, FileLock::take(arguments.options.output, "another record writes here; wait for its end"));
  config.recordings.mode = service::RecordingsConfig::Mode::record;
  config.recordings.directory = arguments.options.output;
  config.models.clear();  // what is recorded does not depend on a model, which may not exist yet
  const service::LoadEngines load = [](const service::ServerConfig& loaded) {
    return service::load_engines(loaded, environment_secret);
  };
  TRY(auto snapshot, service::load_snapshot(config, load));
  for (const std::string& warning : snapshot->warnings) std::cerr << "metafuse: warning: " << warning << '\n';
  arguments.options.progress = terminal_progress("record");
  const SteadyClock clock;
  TRY(const auto report, service::record_lists(*snapshot, queries, arguments.options, clock));
  snapshot.reset();  // closes the archive
  const std::string archive = arguments.options.output + "/archive.har";
  if (std::filesystem::exists(archive + ".part", error))
    return fail(Code::try_again,
                archive + ": cannot be written; free some space and run the same command again");
  print(report, arguments);
  return {};
}

}  // namespace

void add_record(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb =
      app.add_subcommand("record", "record the lists of judged base queries, for training and for replay");
  auto arguments = std::make_shared<RecordArguments>();
  verb->add_option("--config", arguments->config, "server configuration (YAML)")->required();
  verb->add_option("--domain", arguments->options.domain, "whose templates")->required();
  verb->add_option("--queries", arguments->queries,
                   "JSON lines {\"id\",\"slots\":{...},\"relevant\":[{\"url\",\"grade\"}]}")
      ->required();
  verb->add_option("--output", arguments->options.output, "folder for runs/, qrels, urls.tsv and archive.har")
      ->required();
  verb->add_option("--deadline", arguments->options.query_seconds, "seconds for the lists of one base query")
      ->check(CLI::Range(0.1, 3600.0));
  verb->footer(
      "One base query at a time, within the limits of the engine definitions. A run that was "
      "interrupted "
      "goes on\n"
      "where it ended; lists that failed are asked for again.\n"
      "Examples:\n"
      "  metafuse record --config config/metafuse.yaml --domain ml-homepages --queries judged.jsonl --output "
      "rec\n"
      "  metafuse train --runs rec/runs/*.run --qrels rec/qrels --model models/ml-homepages.json");
  verb->callback([arguments, &outcome] { outcome = run_record(*arguments); });
}

}  // namespace metafuse::cli
