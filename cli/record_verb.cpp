// The verb that records the lists of judged base queries.
#include <filesystem>
#include <iostream>
#include <string>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "service/learning/recording.h"

namespace metafuse::cli {
namespace {

struct RecordArguments {
  ConfigChoice config;
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
  TRY(const auto file, chosen_config(arguments.config));
  TRY(auto config, read_server_configuration(file));
  TRY(auto queries, service::read_judged_queries(arguments.queries, config.tracking));
  TRY_VOID(make_folder(arguments.options.output));
  TRY(auto lock, FileLock::take(arguments.options.output,
                                "another metafuse record is writing here; wait until it ends"));
  config.recordings.mode = service::RecordingsConfig::Mode::record;
  config.recordings.directory = arguments.options.output;
  config.models.clear();  // recording needs no model, and the model may not exist yet
  TRY(auto snapshot, service::load_snapshot(config, engine_loader()));
  print_warnings(snapshot->warnings);
  arguments.options.progress = terminal_progress("record");
  const Clock& clock = machine_clock();
  TRY(const auto report, service::record_lists(*snapshot, queries, arguments.options, clock));
  snapshot.reset();  // closes the archive
  const std::string archive = arguments.options.output + "/archive.har";
  std::error_code error;
  if (std::filesystem::exists(archive + ".part", error))
    return fail(Code::try_again,
                archive + ": cannot be written; free some space and run the same command again");
  print(report, arguments);
  return {};
}

}  // namespace

void add_record(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "record", "record the lists of judged base queries, for training and for replay",
               run_record, program);
  add_config_option(verb, a.config);
  verb.add_option("--domain", a.options.domain, "domain whose templates are expanded")->required();
  verb.add_option("--queries", a.queries,
                  "JSON lines {\"id\",\"slots\":{...},\"relevant\":[{\"url\",\"grade\"}]}")
      ->required();
  verb.add_option("--output", a.options.output, "folder for runs/, qrels, urls.tsv and archive.har")
      ->required();
  verb.add_option("--deadline", a.options.query_seconds,
                  "time limit in seconds for the lists of one base query")
      ->check(CLI::Range(0.1, 3600.0));
  verb.footer(
      "One base query at a time, within the limits of the engine definitions. A recording that was "
      "interrupted resumes where it ended; lists that failed are asked for again.\n"
      "Examples:\n"
      "  metafuse record --domain ml-homepages --queries judged.jsonl --output rec\n"
      "  metafuse train --runs rec/runs/*.run --qrels rec/qrels --model models/ml-homepages.json");
}

}  // namespace metafuse::cli
