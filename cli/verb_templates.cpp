#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "templates/template_file.h"

namespace metafuse::cli {
namespace {

/// Checks every file before it fails, so that all mistakes of all files are seen in one run.
Result<void> check_templates(const std::vector<std::string>& paths) {
  std::string errors;
  Code code = Code::bad_config;
  for (const std::string& path : paths) {
    const auto file = templates::read_domain_file(path);
    if (!file) {
      if (errors.empty()) code = file.error().code;
      errors += (errors.empty() ? "" : "\n") + file.error().text;
      continue;
    }
    for (const std::string& warning : file->warnings) std::cerr << "metafuse: warning: " << warning << '\n';
    std::size_t features = 0;
    for (const templates::SearchTemplate& search_template : file->domain.templates)
      features += search_template.engines.size();
    std::cout << path << ": domain " << file->domain.name << ", " << file->domain.slots.size() << " slots, "
              << file->domain.templates.size() << " templates, " << features << " ranking features\n";
  }
  if (!errors.empty()) return fail(code, errors);
  return {};
}

}  // namespace

void add_templates(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("templates", "search templates");
  verb->require_subcommand(1);
  CLI::App* check_verb =
      verb->add_subcommand("check", "check files of search templates; says every mistake at once");
  auto paths = std::make_shared<std::vector<std::string>>();
  check_verb->add_option("FILE", *paths, "search templates of a domain (YAML)")->required();
  check_verb->footer("Example:\n  metafuse templates check config/templates/*.yaml");
  check_verb->callback([paths, &outcome] { outcome = check_templates(*paths); });
}

}  // namespace metafuse::cli
