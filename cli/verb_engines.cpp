#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/verbs.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/trial.h"
#include "service/config/config.h"

namespace metafuse::cli {
namespace {

using fetchers::Engine;

/// Checks every file before it fails, so that all mistakes of all files are seen in one run.
Result<void> check_engines(const std::vector<std::string>& paths) {
  std::string errors;
  Code code = Code::bad_config;
  for (const std::string& path : paths) {
    const auto file = fetchers::read_engine_file(path);
    if (!file) {
      if (errors.empty()) code = file.error().code;
      errors += (errors.empty() ? "" : "\n") + file.error().text;
      continue;
    }
    for (const std::string& warning : file->warnings) std::cerr << "metafuse: warning: " << warning << '\n';
    std::cout << path << ": " << file->engines.size()
              << (file->engines.size() == 1 ? " engine\n" : " engines\n");
    for (const Engine& engine : file->engines)
      std::cout << "  " << engine.name << ": " << engine.type << ", query syntax "
                << engine.query_syntax->name << (engine.is_disabled ? ", disabled" : "") << '\n';
  }
  if (!errors.empty()) return fail(code, errors);
  return {};
}

struct TryArguments {
  std::string name;
  std::string query;
  std::string config;
  std::string answer;
  std::string content_type;
  fetchers::TrialOptions options;
};

struct Definitions {
  std::vector<Engine> engines;
  std::vector<std::string> allow_private;
};

/// The engines of a server configuration, or of an engines file.
Result<Definitions> read_definitions(const std::string& path) {
  TRY(auto root, read_yaml(path));
  Definitions definitions;
  std::vector<std::string> files = {path};
  const YamlNode* engines = root.find("engines");
  const bool is_engine_file =
      engines != nullptr && engines->is_list() && !engines->items.empty() && engines->items.front().is_map();
  if (!is_engine_file) {
    TRY(auto config, service::read_config(path));
    files = config.engines;
    definitions.allow_private = config.allow_private;
  }
  for (const std::string& file : files) {
    TRY(auto read, fetchers::read_engine_file(file));
    for (Engine& engine : read.engines) definitions.engines.push_back(std::move(engine));
  }
  return definitions;
}

Result<void> try_engine(TryArguments& arguments) {
  TRY(auto definitions, read_definitions(arguments.config));
  const Engine* engine = fetchers::find_engine(definitions.engines, arguments.name);
  if (engine == nullptr) {
    std::string known;
    for (const Engine& other : definitions.engines) known += (known.empty() ? "" : ", ") + other.name;
    return fail(Code::usage,
                "no engine \"" + arguments.name + "\" in " + arguments.config + "; there are " + known);
  }
  arguments.options.allow_private = definitions.allow_private;
  arguments.options.secret_of = environment_secret;
  if (!arguments.answer.empty()) {
    TRY(auto body, read_text(arguments.answer, std::size_t{64} << 20));
    arguments.options.saved_answer = std::move(body);
    arguments.options.saved_content_type = arguments.content_type;
  }
  TRY(const auto trial, fetchers::try_engine(*engine, arguments.query, arguments.options));
  std::cout << trial.text;
  if (trial.failure != fetchers::Failure::none)
    return fail(Code::unavailable,
                engine->name + ": " + std::string(fetchers::name_of(trial.failure)) + ": " + trial.message);
  return {};
}

}  // namespace

void add_engines(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("engines", "engine definitions: check them, try one");
  verb->require_subcommand(1);

  CLI::App* check_verb =
      verb->add_subcommand("check", "check engine files offline; says every mistake at once");
  auto paths = std::make_shared<std::vector<std::string>>();
  check_verb->add_option("FILE", *paths, "engine definitions (YAML)")->required();
  check_verb->footer("Example:\n  metafuse engines check config/engines.yaml");
  check_verb->callback([paths, &outcome] { outcome = check_engines(*paths); });

  CLI::App* try_verb =
      verb->add_subcommand("try", "ask one engine: shows the request, the answer and the parsed list");
  auto arguments = std::make_shared<TryArguments>();
  try_verb->add_option("NAME", arguments->name, "the engine's name")->required();
  try_verb->add_option("QUERY", arguments->query, "sent as it is, in the engine's own syntax")->required();
  try_verb->add_option("--config", arguments->config, "a server configuration or an engines file")
      ->required();
  try_verb->add_option("--limit", arguments->options.depth, "how many results")->check(CLI::Range(1, 1000));
  try_verb->add_option("--page", arguments->options.page, "which page of them")->check(CLI::Range(1, 100));
  try_verb->add_option("--answer", arguments->answer, "parse this saved answer; nothing is sent");
  try_verb->add_option("--content-type", arguments->content_type, "of the saved answer");
  try_verb->add_flag("--json", arguments->options.is_json, "the parsed list as JSON alone");
  try_verb->footer(
      "Secrets are shown as REDACTED.\n"
      "Examples:\n"
      "  metafuse engines try web 'chess set' --config config/metafuse.yaml\n"
      "  metafuse engines try web x --config config/engines.yaml --answer saved.json");
  try_verb->callback([arguments, &outcome] { outcome = try_engine(*arguments); });
}

}  // namespace metafuse::cli
