#pragma once

// The verbs of the command line. Each file cli/*_verbs.cpp defines one function per verb, which adds the
// verb. A program (cli/main.cpp, lab/program/main.cpp) is a table of verbs and a table of learners.

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "fusion/training/registry.h"

namespace metafuse::cli {

struct Program;

/// Adds one verb to the command line. When the user chose the verb, its callback does the work and stores the
/// result in the program's outcome; run_program() prints an error and returns its exit status.
using AddVerb = void (*)(CLI::App& app, Program& program);

/// Verbs that stand together in --help.
struct VerbGroup {
  const char* heading;
  std::vector<AddVerb> verbs;
};

/// What differs between the programs that are made of these verbs, and what a verb leaves behind.
struct Program {
  std::string name;              ///< "metafuse"
  std::string meaning;           ///< the first line of --help
  std::vector<VerbGroup> verbs;  ///< in the order of --help
  fusion::Learners learners;     ///< those that its verbs train
  bool is_server = false;        ///< whether it serves, and so has a configuration
  /// Words that completions offer after a verb, such as the names of experiments.
  std::map<std::string, std::vector<std::string>> words = {};
  Result<void> outcome = {};
};

/// Reads the command line, runs the chosen verb, and prints errors.
/// out:    the exit status
int run_program(Program program, int argc, char** argv);

template <class Arguments>
struct Verb {
  CLI::App& app;
  Arguments& arguments;  ///< lives as long as the app
};

/// Adds a verb that runs run(arguments) on arguments of its own.
template <class Arguments>
Verb<std::remove_const_t<Arguments>> add_verb(CLI::App& parent, const char* name, const char* meaning,
                                              Result<void> (*run)(Arguments&), Program& program) {
  auto arguments = std::make_shared<std::remove_const_t<Arguments>>();
  CLI::App* app = parent.add_subcommand(name, meaning);
  app->callback([arguments, run, &program] { program.outcome = run(*arguments); });
  return {*app, *arguments};
}

void add_compare_methods(CLI::App& app, Program& program);
void add_completion(CLI::App& app, Program& program);
void add_config(CLI::App& app, Program& program);
void add_crossvalidate(CLI::App& app, Program& program);
void add_doctor(CLI::App& app, Program& program);
void add_engines(CLI::App& app, Program& program);
void add_catalogue(CLI::App& engines, Program& program);      ///< sub-verbs of `engines`
void add_engine_health(CLI::App& engines, Program& program);  ///< likewise
void add_evaluate(CLI::App& app, Program& program);
void add_expand(CLI::App& app, Program& program);
void add_fuse(CLI::App& app, Program& program);
void add_index(CLI::App& app, Program& program);
void add_init(CLI::App& app, Program& program);
void add_judge(CLI::App& app, Program& program);
void add_manual(CLI::App& app, Program& program);
void add_key(CLI::App& app, Program& program);
void add_mcp(CLI::App& app, Program& program);
void add_model(CLI::App& app, Program& program);
void add_lists(CLI::App& app, Program& program);
void add_record(CLI::App& app, Program& program);
void add_score(CLI::App& app, Program& program);
void add_search(CLI::App& app, Program& program);
void add_serve(CLI::App& app, Program& program);
void add_store(CLI::App& app, Program& program);
void add_templates(CLI::App& app, Program& program);
void add_train(CLI::App& app, Program& program);

}  // namespace metafuse::cli
