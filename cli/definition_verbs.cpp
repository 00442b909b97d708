// The verbs that expand, check and try what users define: expand; templates check; engines check and try;
// config check and config keys.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/deadline.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/calling/trial.h"
#include "fetchers/definition/engine_file.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "templates/expander.h"
#include "templates/template_file.h"

namespace metafuse::cli {
namespace {

struct ExpandArguments {
  std::string templates;
  std::string engines;
  std::string query;
  std::vector<std::string> settings;
  bool is_json = false;
};

/// The definitions of an engines file; none without a path. Its warnings are left to `engines check`.
Result<std::vector<fetchers::Engine>> read_engines(const std::string& path) {
  if (path.empty()) return std::vector<fetchers::Engine>{};
  TRY(auto file, fetchers::read_engine_file(path));
  return std::move(file.engines);
}

Result<templates::TypedBaseQuery> read_asked_query(const templates::Domain& domain,
                                                   const ExpandArguments& arguments) {
  templates::TypedBaseQuery asked;
  if (!arguments.query.empty()) {
    TRY(auto plain, templates::plain_base_query(domain, arguments.query));
    asked = std::move(plain);
  }
  TRY(auto settings, read_settings("--set", arguments.settings));
  for (auto& [name, value] : settings)
    if (!asked.base.slots.emplace(name, std::move(value)).second)
      return fail(Code::usage, "the slot " + name + " is set twice; keep one");
  return asked;
}

/// Warns because a query in another engine's syntax looks right but is not.
void warn_of_unknown_engines(const std::vector<ExpandedQuery>& queries,
                             const std::vector<fetchers::Engine>& engines, const std::string& path) {
  std::set<std::string> unknown;
  for (const ExpandedQuery& query : queries)
    if (fetchers::find_engine(engines, query.engine) == nullptr) unknown.insert(query.engine);
  for (const std::string& name : unknown)
    print_warnings({fmt::format(
        "{}: defines no engine \"{}\"; its queries are written in the default syntax, web", path, name)});
}

void print_json(const std::vector<ExpandedQuery>& queries) {
  JsonArray out;
  for (const ExpandedQuery& query : queries)
    out.push_back(
        JsonObject{{"template", query.template_id}, {"engine", query.engine}, {"query", query.text}});
  std::cout << to_pretty_text(out);
}

/// Prints one line per template; if its engines use different syntaxes, one line per engine, TEMPLATE@ENGINE.
void print_lines(const std::vector<ExpandedQuery>& queries) {
  for (std::size_t begin = 0, end = 0; begin < queries.size(); begin = end) {
    bool is_same = true;
    for (end = begin; end < queries.size() && queries[end].template_id == queries[begin].template_id; ++end)
      is_same = is_same && queries[end].text == queries[begin].text;
    if (is_same) std::cout << queries[begin].template_id << '\t' << queries[begin].text << '\n';
    for (std::size_t i = begin; i < end && !is_same; ++i)
      std::cout << queries[i].feature_name() << '\t' << queries[i].text << '\n';
  }
}

Result<void> run_expand(const ExpandArguments& arguments) {
  TRY(auto file, templates::read_domain_file(arguments.templates));
  TRY(auto asked, read_asked_query(file.domain, arguments));
  TRY(auto engines, read_engines(arguments.engines));
  const auto syntax_of = [&](std::string_view name) -> const QuerySyntax& {
    const fetchers::Engine* engine = fetchers::find_engine(engines, name);
    return engine == nullptr ? default_query_syntax() : *engine->query_syntax;
  };
  TRY(auto queries, templates::expand_asked(file.domain, asked, syntax_of));
  if (!arguments.engines.empty()) warn_of_unknown_engines(queries, engines, arguments.engines);
  arguments.is_json ? print_json(queries) : print_lines(queries);
  return {};
}

}  // namespace

void add_expand(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "expand", "print the engine queries that a base query expands to", run_expand, program);
  verb.add_option("--templates", a.templates, "search templates of a domain (YAML)")->required();
  verb.add_option("--set", a.settings, "NAME=VALUE: the value of a slot; repeat it")->allow_extra_args(false);
  verb.add_option("QUERY", a.query, "a plain query: fills the slot QUERY or the first required slot");
  verb.add_option("--engines", a.engines,
                  "engines file: write each query in its engine's query_syntax (default: web)");
  verb.add_flag("--json", a.is_json, "an array of {template, engine, query}");
  verb.footer(
      "Prints one line per template: id TAB expanded query.\n"
      "Examples:\n"
      "  metafuse expand --templates config/templates/ml-homepages.yaml --set 'NAME=Joe Researcher'\n"
      "  metafuse expand --templates config/templates/free-software.yaml 'web browser' --engines "
      "demo/engines.yaml");
}

namespace {

using fetchers::Engine;
using Paths = std::vector<std::string>;

/// Reads every file before it fails, so that one run shows the mistakes of all files.
template <class File, class Read, class Print>
Result<void> check_files(const Paths& paths, const Read& read, const Print& print) {
  std::string errors;
  Code code = Code::bad_config;
  for (const std::string& path : paths) {
    const Result<File> file = read(path);
    if (file) {
      print_warnings(file->warnings);
      print(path, *file);
      continue;
    }
    if (errors.empty()) code = file.error().code;
    errors += (errors.empty() ? "" : "\n") + file.error().text;
  }
  if (!errors.empty()) return fail(code, errors);
  return {};
}

Result<void> check_templates(const Paths& paths) {
  return check_files<templates::DomainFile>(
      paths, [](const std::string& path) { return templates::read_domain_file(path); },
      [](const std::string& path, const templates::DomainFile& file) {
        std::size_t features = 0;
        for (const templates::SearchTemplate& row : file.domain.templates) features += row.engines.size();
        std::cout << fmt::format("{}: domain {}, {} slots, {} templates, {} ranking features\n", path,
                                 file.domain.name, file.domain.slots.size(), file.domain.templates.size(),
                                 features);
      });
}

struct EngineCheck {
  Paths paths;
  bool is_strict = false;  ///< refuse a SearXNG settings.yml if one of its blocks cannot be served
};

Result<void> check_engines(const EngineCheck& check) {
  return check_files<fetchers::EngineFile>(
      check.paths,
      [&](const std::string& path) -> Result<fetchers::EngineFile> {
        TRY(auto file, fetchers::read_engine_file(path));
        std::string mistakes;
        for (const fetchers::RefusedBlock& refused : file.refused)
          if (!refused.is_disabled) mistakes += (mistakes.empty() ? "" : "\n") + refused.text;
        if (!check.is_strict || mistakes.empty()) return file;
        return fail(Code::bad_config, mistakes);
      },
      [](const std::string& path, const fetchers::EngineFile& file) {
        std::size_t disabled = 0;
        for (const fetchers::RefusedBlock& refused : file.refused)
          if (refused.is_disabled)
            ++disabled;
          else
            std::cerr << "metafuse: not served: " << refused.text << '\n';
        const std::string left_out =
            file.refused.empty()
                ? ""
                : fmt::format(", {} not served ({} of them disabled)", file.refused.size(), disabled);
        std::cout << fmt::format("{}: {} engine{}{}\n", path, file.engines.size(),
                                 file.engines.size() == 1 ? "" : "s", left_out);
        for (const Engine& engine : file.engines)
          std::cout << fmt::format("  {}: {}, query syntax {}{}\n", engine.name, engine.type,
                                   engine.query_syntax->name, engine.is_disabled ? ", disabled" : "");
      });
}

struct TryArguments {
  std::string name;
  std::string query;
  ConfigChoice config;  ///< a server configuration or an engines file
  std::string answer;
  std::string content_type;
  std::vector<std::string> headers;
  fetchers::TrialOptions options;
};

/// "Name: value", as curl takes it.
Result<std::pair<std::string, std::string>> header_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = std::string_view(text).substr(0, colon);
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_ascii_letter_or_digit(c) || c == '-' || c == '_';
  });
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (colon == std::string::npos || !is_name || has_control)
    return fail(Code::usage, "--header \"" + text.substr(0, 40) + "\": write it as \"Name: value\"");
  return std::pair(std::string(name), std::string(ascii_trimmed(std::string_view(text).substr(colon + 1))));
}

Result<void> try_engine(TryArguments& arguments) {
  TRY(const auto path, chosen_config(arguments.config));
  TRY(auto definitions, read_definitions(path));
  const Engine* engine = fetchers::find_engine(definitions.engines, arguments.name);
  if (engine == nullptr)
    return fail(Code::usage, "no engine \"" + arguments.name + "\" in " + path +
                                 did_you_mean(arguments.name, names_of(definitions.engines)));
  arguments.options.allow_private = definitions.allow_private;
  arguments.options.secret_of = environment_secret;
  for (const std::string& text : arguments.headers) {
    TRY(auto header, header_of(text));
    arguments.options.headers.push_back(std::move(header));
  }
  if (!arguments.answer.empty()) {
    TRY(auto body, read_text(arguments.answer, std::size_t{64} << 20));
    arguments.options.saved_answer = std::move(body);
    arguments.options.saved_content_type = arguments.content_type;
  }
  TRY(const auto trial, fetchers::try_engine(*engine, arguments.query, arguments.options));
  std::cout << (is_terminal(STDOUT_FILENO) ? printable_lines(trial.text) : trial.text);
  if (arguments.options.is_json) std::cerr << trial.remark;
  if (trial.failure != fetchers::Failure::none)
    return fail(Code::unavailable,
                engine->name + ": " + std::string(fetchers::name_of(trial.failure)) + ": " + trial.message);
  return {};
}

}  // namespace

void add_templates(CLI::App& app, Program& program) {
  CLI::App* templates = app.add_subcommand("templates", "check search templates")->require_subcommand(1);
  auto [verb, paths] =
      add_verb(*templates, "check", "check search template files and report every mistake at once",
               check_templates, program);
  verb.add_option("FILE", paths, "search templates of a domain (YAML)")->required();
  verb.footer("Example:\n  metafuse templates check config/templates/*.yaml");
}

void add_engines(CLI::App& app, Program& program) {
  CLI::App* engines =
      app.add_subcommand("engines", "check engine definitions, try one, or take one from the catalogue")
          ->require_subcommand(1);
  auto [check, checked] =
      add_verb(*engines, "check", "check engine files offline and report every mistake at once",
               check_engines, program);
  check.add_option("FILE", checked.paths, "engine definitions (YAML)")->required();
  check.add_flag("--strict", checked.is_strict,
                 "refuse a SearXNG settings.yml if any of its engines cannot be served");
  check.footer("Example:\n  metafuse engines check config/engines.yaml");

  auto [verb, a] =
      add_verb(*engines, "try", "ask one engine: shows the request, the answer and the parsed list",
               try_engine, program);
  verb.add_option("NAME", a.name, "the engine's name")->required();
  verb.add_option("QUERY", a.query, "sent unchanged, in the engine's own syntax")->required();
  add_config_option(verb, a.config, "a server configuration or an engines file");
  verb.add_option("--limit", a.options.depth, "how many results")->check(CLI::Range(1, 1000));
  verb.add_option("--page", a.options.page, "which page of results")->check(CLI::Range(1, 100));
  verb.add_option("--header", a.headers, "\"Name: value\" of the caller, for an engine that passes it on")
      ->allow_extra_args(false);
  verb.add_option("--answer", a.answer, "parse this saved answer; nothing is sent");
  verb.add_option("--content-type", a.content_type, "content type of the saved answer");
  verb.add_flag("--json", a.options.is_json, "print only the parsed list, as JSON");
  verb.footer(
      "Secrets are shown as REDACTED.\n"
      "Examples:\n"
      "  metafuse engines try web 'chess set' --config config/metafuse.yaml\n"
      "  metafuse engines try web x --config config/engines.yaml --answer saved.json");
  add_catalogue(*engines, program);
  add_engine_health(*engines, program);
}

namespace {

struct CheckArguments {
  ConfigChoice config;
  std::string query = "test";
  bool is_live = false;
};

/// Queries every engine that some template names, all at once, and prints the results.
///
/// errors: unavailable: an engine failed
Result<void> ask_each_engine(const service::Snapshot& snapshot, const std::string& query) {
  std::set<std::string> names;
  for (const auto& [name, domain] : snapshot.domains)
    for (const templates::SearchTemplate& one : domain.domain.templates)
      names.insert(one.engines.begin(), one.engines.end());
  std::vector<ExpandedQuery> queries;
  double seconds = 1;
  for (const std::string& name : names) {
    queries.push_back({"check", name, query});
    if (const auto traits = snapshot.engines.traits.find(name); traits != snapshot.engines.traits.end())
      seconds = std::max(seconds, traits->second.timeout_seconds + 1);
  }
  const Clock& clock = machine_clock();
  const Duration patience = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  const auto lists =
      snapshot.engines.fetcher->fetch(queries, {.depth = 10, .deadline = Deadline(clock, patience)}, {});
  std::size_t failed = 0;
  for (const fetchers::FetchedList& list : lists) {
    failed += list.has_failed() ? 1 : 0;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(list.elapsed).count();
    const std::string found = list.has_failed()
                                  ? std::string(fetchers::name_of(list.failure)) + ": " + list.message
                              : list.list.hits.empty() ? "answers, but finds nothing for this query"
                                                       : fetchers::printable(list.list.hits.front().title);
    std::cout << fmt::format("{:<6} {:<24} {:>3} results {:>6} ms  {}\n",
                             list.has_failed() ? "FAILED" : "good", list.query.engine, list.list.hits.size(),
                             milliseconds, found);
  }
  if (failed == 0) return {};
  return fail(Code::unavailable,
              fmt::format("{} of {} engines failed; metafuse engines try NAME QUERY shows the exchange",
                          failed, lists.size()));
}

Result<void> check_config(const CheckArguments& arguments) {
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  TRY_VOID(service::check_keys(*snapshot));
  print_warnings(snapshot->warnings);
  print_warnings(key_warnings(config));
  for (const auto& [name, domain] : snapshot->domains)
    std::cout << fmt::format("{}\t{} templates\t{}\n", name, domain.domain.templates.size(),
                             domain.model ? domain.model->learner + " " + domain.model_digest.substr(0, 12)
                                          : "no model: fused by RRF");
  if (arguments.is_live) return ask_each_engine(*snapshot, arguments.query);
  return {};
}

}  // namespace

void add_config(CLI::App& app, Program& program) {
  CLI::App* config =
      app.add_subcommand("config", "check or explain a server configuration")->require_subcommand(1);
  auto [verb, a] =
      add_verb(*config, "check", "load everything that a configuration names and report every mistake",
               check_config, program);
  verb.add_option("FILE", a.config.file,
                  "server configuration (YAML); default: the one that serve would find");
  verb.add_flag("--live", a.is_live, "also ask each engine of the templates once and report what came back");
  add_defaulted(verb, "--query", a.query, "the query that --live sends, unchanged");
  verb.footer(
      "Examples:\n"
      "  metafuse config check config/metafuse.yaml\n"
      "  metafuse config check --live --query 'chess set'");
  CLI::App* keys =
      config->add_subcommand("keys", "print every key of the configuration: meaning, range, default");
  keys->footer("Example:\n  metafuse config keys | grep limits");
  keys->callback([] { std::cout << service::config_reference(); });
}

}  // namespace metafuse::cli
