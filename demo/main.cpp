// Prepares the demonstration's input from a Debian package index: documents for `metafuse index` and judged
// base queries for `metafuse record`. scripts/demo runs it; docs/demonstration.md says what it draws.

#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "core/atomic_file.h"
#include "demo/home_pages.h"

namespace metafuse::demo {
namespace {

struct Arguments {
  std::string packages;
  std::string documents;
  std::string queries;
  SampleOptions sample;
};

Result<void> prepare(const Arguments& arguments) {
  TRY(auto pages, read_package_index(arguments.packages));
  if (!arguments.documents.empty()) {
    TRY_VOID(write_file(arguments.documents, to_documents(pages)));
  }
  const auto queries = sample_base_queries(pages, arguments.sample);
  if (!arguments.queries.empty()) {
    TRY_VOID(write_file(arguments.queries, to_query_lines(queries)));
  }
  std::cout << pages.size() << " home pages, " << queries.size() << " base queries (seed "
            << arguments.sample.seed << ")\n";
  return {};
}

int run(int argc, char** argv) {
  CLI::App app{"Documents and judged base queries from a Debian package index", "metafuse-home-pages"};
  Arguments arguments;
  app.add_option("PACKAGES", arguments.packages, "what apt-cache dumpavail prints; - is standard input")
      ->required();
  app.add_option("--documents", arguments.documents, "write the documents for metafuse index here");
  app.add_option("--queries", arguments.queries, "write the base queries for metafuse record here");
  app.add_option("--count", arguments.sample.count, "base queries to draw")->capture_default_str();
  app.add_option("--seed", arguments.sample.seed, "seed of the draw")->capture_default_str();
  app.footer("Example:\n  apt-cache dumpavail | metafuse-home-pages - --documents d.jsonl --queries q.jsonl");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    std::cerr << "metafuse-home-pages: " << error.what() << "; see --help\n";
    return static_cast<int>(Code::usage);
  }
  const auto done = prepare(arguments);
  if (done) return 0;
  std::cerr << "metafuse-home-pages: " << done.error().text << '\n';
  return static_cast<int>(done.error().code);
}

}  // namespace
}  // namespace metafuse::demo

int main(int argc, char** argv) {
  return metafuse::demo::run(argc, argv);
}
