#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "fetchers/embedded/local_engine.h"

namespace metafuse::cli {
namespace {

struct IndexArguments {
  std::string database;
  std::vector<std::string> documents;
  fetchers::IndexOptions options;
};

volatile std::sig_atomic_t is_interrupted = 0;

/// An index takes long enough to be interrupted, and what is half-written is to go.
void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends at once
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

Result<void> run_index(IndexArguments& arguments) {
  watch_interrupts();
  arguments.options.is_interrupted = [] { return is_interrupted != 0; };
  arguments.options.progress = terminal_progress("index");
  TRY(const auto report,
      fetchers::build_local_index(arguments.database, arguments.documents, arguments.options));
  std::cout << arguments.database << ": " << report.documents << " documents, columns";
  for (const std::string& column : report.columns) std::cout << ' ' << column;
  std::cout << '\n';
  if (report.replaced > 0)
    std::cerr << "metafuse: " << report.replaced
              << " documents came again with the same url; the last counts\n";
  return {};
}

}  // namespace

void add_index(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("index", "build the embedded local engine's index");
  auto arguments = std::make_shared<IndexArguments>();
  verb->add_option("--database", arguments->database,
                   "the index to write (SQLite); an index that is there is replaced as a whole")
      ->required();
  verb->add_option("DOCUMENTS", arguments->documents,
                   "JSON lines {\"url\",\"title\",\"text\",...}, - for standard input")
      ->required();
  verb->add_flag("--stem-english", arguments->options.stems_english,
                 "index English stems: \"searches\" finds \"search\"");
  verb->footer(
      "Further fields with text values become columns that queries can name (name:word) and engine "
      "definitions\n"
      "can weight.\n"
      "Examples:\n"
      "  metafuse index --database state/pages.db pages.jsonl\n"
      "  zcat pages.jsonl.gz | metafuse index --database state/pages.db -");
  verb->callback([arguments, &outcome] { outcome = run_index(*arguments); });
}

}  // namespace metafuse::cli
