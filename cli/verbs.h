#pragma once

// The verbs of the command line. Each file cli/*_verbs.cpp defines one function per verb, which adds the
// verb; main.cpp holds the table of all verbs in the order of --help.

#include <memory>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace metafuse::cli {

/// Adds one verb to the command line. When the user chose the verb, its callback does the work and stores the
/// result in `outcome`; main() prints an error and returns its exit status.
using AddVerb = void (*)(CLI::App& app, Result<void>& outcome);

template <class Arguments>
struct Verb {
  CLI::App& app;
  Arguments& arguments;  ///< lives as long as the app
};

/// Adds a verb that runs run(arguments) on arguments of its own.
template <class Arguments>
Verb<std::remove_const_t<Arguments>> add_verb(CLI::App& parent, const char* name, const char* meaning,
                                              Result<void> (*run)(Arguments&), Result<void>& outcome) {
  auto arguments = std::make_shared<std::remove_const_t<Arguments>>();
  CLI::App* app = parent.add_subcommand(name, meaning);
  app->callback([arguments, run, &outcome] { outcome = run(*arguments); });
  return {*app, *arguments};
}

void add_compare_methods(CLI::App& app, Result<void>& outcome);
void add_completion(CLI::App& app, Result<void>& outcome);
void add_config(CLI::App& app, Result<void>& outcome);
void add_crossvalidate(CLI::App& app, Result<void>& outcome);
void add_doctor(CLI::App& app, Result<void>& outcome);
void add_engines(CLI::App& app, Result<void>& outcome);
void add_catalogue(CLI::App& engines, Result<void>& outcome);  ///< sub-verbs of `engines`
void add_evaluate(CLI::App& app, Result<void>& outcome);
void add_expand(CLI::App& app, Result<void>& outcome);
void add_experiment(CLI::App& app, Result<void>& outcome);
void add_fuse(CLI::App& app, Result<void>& outcome);
void add_index(CLI::App& app, Result<void>& outcome);
void add_init(CLI::App& app, Result<void>& outcome);
void add_manual(CLI::App& app, Result<void>& outcome);
void add_key(CLI::App& app, Result<void>& outcome);
void add_mcp(CLI::App& app, Result<void>& outcome);
void add_model(CLI::App& app, Result<void>& outcome);
void add_lists(CLI::App& app, Result<void>& outcome);
void add_record(CLI::App& app, Result<void>& outcome);
void add_score(CLI::App& app, Result<void>& outcome);
void add_search(CLI::App& app, Result<void>& outcome);
void add_serve(CLI::App& app, Result<void>& outcome);
void add_store(CLI::App& app, Result<void>& outcome);
void add_suggest_judgments(CLI::App& app, Result<void>& outcome);
void add_templates(CLI::App& app, Result<void>& outcome);
void add_train(CLI::App& app, Result<void>& outcome);

}  // namespace metafuse::cli
