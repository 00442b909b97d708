#pragma once

#include "cli/verb.h"

namespace metafuse::cli {

// One file a verb, each named for it (cli/verb_NAME.cpp); main.cpp holds the table in the order of --help.

void add_compare_methods(CLI::App& app, Result<void>& outcome);
void add_config(CLI::App& app, Result<void>& outcome);
void add_crossvalidate(CLI::App& app, Result<void>& outcome);
void add_expand(CLI::App& app, Result<void>& outcome);
void add_fuse(CLI::App& app, Result<void>& outcome);
void add_engines(CLI::App& app, Result<void>& outcome);
void add_record(CLI::App& app, Result<void>& outcome);
void add_index(CLI::App& app, Result<void>& outcome);
void add_evaluate(CLI::App& app, Result<void>& outcome);
void add_experiment(CLI::App& app, Result<void>& outcome);
void add_key(CLI::App& app, Result<void>& outcome);
void add_model(CLI::App& app, Result<void>& outcome);
void add_score(CLI::App& app, Result<void>& outcome);
void add_search(CLI::App& app, Result<void>& outcome);
void add_serve(CLI::App& app, Result<void>& outcome);
void add_store(CLI::App& app, Result<void>& outcome);
void add_templates(CLI::App& app, Result<void>& outcome);
void add_train(CLI::App& app, Result<void>& outcome);

}  // namespace metafuse::cli
