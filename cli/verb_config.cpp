#include <iostream>
#include <memory>
#include <string>

#include "cli/server_configuration.h"
#include "cli/verbs.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"

namespace metafuse::cli {
namespace {

Result<void> check_config(const std::string& file) {
  TRY(const auto config, read_server_configuration(file, ""));
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  for (const std::string& warning : snapshot->warnings) std::cerr << "metafuse: warning: " << warning << '\n';
  for (const auto& [name, domain] : snapshot->domains)
    std::cout << name << '\t' << domain.domain.templates.size() << " templates\t"
              << (domain.model ? domain.model->learner + " " + domain.model_digest.substr(0, 12)
                               : std::string("no model: fused by RRF"))
              << '\n';
  return {};
}

}  // namespace

void add_config(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("config", "look at a server configuration");
  verb->require_subcommand(1);
  CLI::App* check_verb =
      verb->add_subcommand("check", "load everything that a configuration names, and say every mistake");
  auto file = std::make_shared<std::string>();
  check_verb->add_option("FILE", *file, "server configuration (YAML)")->required();
  check_verb->footer("Examples:\n  metafuse config check config/metafuse.yaml");
  CLI::App* keys = verb->add_subcommand("keys", "every key of the configuration: meaning, range, default");
  keys->footer("Example:\n  metafuse config keys | grep limits");
  keys->callback([] { std::cout << service::config_reference(); });
  check_verb->callback([file, &outcome] { outcome = check_config(*file); });
}

}  // namespace metafuse::cli
