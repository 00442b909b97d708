#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "core/json.h"
#include "fetchers/definition/engine_file.h"
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

/// The definitions of an engines file, or none. Its warnings are the business of `engines check`.
Result<std::vector<fetchers::Engine>> read_engines(const std::string& path) {
  if (path.empty()) return std::vector<fetchers::Engine>{};
  TRY(auto file, fetchers::read_engine_file(path));
  return std::move(file.engines);
}

Result<BaseQuery> read_base_query(const templates::Domain& domain, const ExpandArguments& arguments) {
  BaseQuery base_query;
  if (!arguments.query.empty()) {
    TRY(auto plain, templates::plain_base_query(domain, arguments.query));
    base_query = plain;
  }
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::usage, "--set " + setting + ": write it as NAME=VALUE");
    const auto [entry, is_new] =
        base_query.slots.emplace(setting.substr(0, equals), setting.substr(equals + 1));
    if (!is_new) return fail(Code::usage, "the slot " + entry->first + " is set twice; keep one");
  }
  return base_query;
}

/// A query in another engine's syntax looks right and is not.
void warn_of_unknown_engines(const std::vector<ExpandedQuery>& queries,
                             const std::vector<fetchers::Engine>& engines, const std::string& path) {
  std::set<std::string> unknown;
  for (const ExpandedQuery& query : queries)
    if (fetchers::find_engine(engines, query.engine) == nullptr) unknown.insert(query.engine);
  for (const std::string& name : unknown)
    std::cerr << "metafuse: warning: " << path << ": defines no engine \"" << name
              << "\"; its queries are written in the default syntax, web\n";
}

void print_json(const std::vector<ExpandedQuery>& queries) {
  JsonArray out;
  for (const ExpandedQuery& query : queries)
    out.push_back(
        JsonObject{{"template", query.template_id}, {"engine", query.engine}, {"query", query.text}});
  std::cout << to_pretty_text(out);
}

/// One line a template; a template whose engines write it differently gets one line an engine,
/// TEMPLATE@ENGINE.
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
  TRY(auto base_query, read_base_query(file.domain, arguments));
  TRY(auto engines, read_engines(arguments.engines));
  const auto syntax_of = [&](std::string_view name) -> const QuerySyntax& {
    const fetchers::Engine* engine = fetchers::find_engine(engines, name);
    return engine == nullptr ? default_query_syntax() : *engine->query_syntax;
  };
  TRY(auto queries, templates::expand(file.domain, base_query, syntax_of));
  if (!arguments.engines.empty()) warn_of_unknown_engines(queries, engines, arguments.engines);
  arguments.is_json ? print_json(queries) : print_lines(queries);
  return {};
}

}  // namespace

void add_expand(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("expand", "write the engines' queries of a base query");
  auto arguments = std::make_shared<ExpandArguments>();
  verb->add_option("--templates", arguments->templates, "search templates of a domain (YAML)")->required();
  verb->add_option("--set", arguments->settings, "NAME=VALUE: the value of a slot; repeat it")
      ->allow_extra_args(false);
  verb->add_option("QUERY", arguments->query,
                   "a plain query: fills the slot QUERY or the first required slot");
  verb->add_option("--engines", arguments->engines,
                   "engines file: write each query in its engine's query_syntax (default: web)");
  verb->add_flag("--json", arguments->is_json, "an array of {template, engine, query}");
  verb->footer(
      "Prints one line a template: id TAB expanded query.\n"
      "Examples:\n"
      "  metafuse expand --templates config/templates/ml-homepages.yaml --set 'NAME=Joe Researcher'\n"
      "  metafuse expand --templates config/templates/free-software.yaml 'web browser' --engines "
      "demo/engines.yaml");
  verb->callback([arguments, &outcome] { outcome = run_expand(*arguments); });
}

}  // namespace metafuse::cli
