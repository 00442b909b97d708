// The verbs that take engine definitions from the catalogue or derive them: engines list, add and guess.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "cli/init_engines.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_file.h"

namespace metafuse::cli {
namespace {

using fetchers::CatalogueEntry;

struct ListArguments {
  std::string kind;
  bool is_json = false;
};

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const CatalogueEntry& entry : fetchers::catalogue())
    if (out.empty() || out.back() != entry.kind) out.push_back(entry.kind);
  return out;
}

bool needs_key(const CatalogueEntry& entry) {
  return entry.about("require_api_key") == "true";
}

void print_as_json(const std::vector<const CatalogueEntry*>& entries) {
  JsonArray out;
  for (const CatalogueEntry* entry : entries)
    out.push_back(JsonObject{{"name", entry->name},
                             {"kind", entry->kind},
                             {"description", entry->value("description")},
                             {"website", entry->about("website")},
                             {"terms", entry->about("terms")},
                             {"needs_key", needs_key(*entry)},
                             {"requests_per_second", entry->value("requests_per_second")},
                             {"query_syntax", entry->value("query_syntax")}});
  std::cout << to_pretty_text(out);
}

void print_as_table(const std::vector<const CatalogueEntry*>& entries) {
  std::string kind;
  for (const CatalogueEntry* entry : entries) {
    if (entry->kind != kind) std::cout << (kind.empty() ? "" : "\n") << entry->kind << '\n';
    kind = entry->kind;
    std::cout << fmt::format("  {:<24} {}{}\n", entry->name, entry->value("description"),
                             needs_key(*entry) ? " (needs a key)" : "");
  }
}

Result<void> list_engines(const ListArguments& arguments) {
  std::vector<const CatalogueEntry*> chosen;
  for (const CatalogueEntry& entry : fetchers::catalogue())
    if (arguments.kind.empty() || entry.kind == arguments.kind) chosen.push_back(&entry);
  if (chosen.empty())
    return fail(Code::usage, fmt::format("no engines of the kind \"{}\" in the catalogue{}", arguments.kind,
                                         did_you_mean(arguments.kind, kinds())));
  arguments.is_json ? print_as_json(chosen) : print_as_table(chosen);
  return {};
}

struct AddArguments {
  std::vector<std::string> names;
  std::string file;  ///< an engine file to add to; empty: print
};

Result<std::string> definitions_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const auto& all = fetchers::catalogue();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CatalogueEntry& entry) { return entry.name == name; });
    if (found == all.end())
      return fail(Code::usage, fmt::format("no engine \"{}\" in the catalogue{}", name,
                                           did_you_mean(name, names_of(all))));
    if (!out.empty()) out += '\n';
    out += found->text;
  }
  return out;
}

/// Adds the definitions below the last one of an engine file, if the file is still valid then.
Result<void> add_to_file(const std::string& file, const std::string& definitions) {
  constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
  std::error_code error;
  std::string text = "engines:\n";
  if (std::filesystem::exists(file, error)) {
    TRY(text, read_text(file, kMaxFileBytes));
    if (!text.ends_with('\n')) text += '\n';
  }
  const auto parsed = fetchers::parse_engine_file(text + definitions, file);
  if (!parsed)
    return fail(
        Code::bad_config,
        parsed.error().text + "; nothing was added (the list `engines:` must be the end of the file)");
  return write_file(file, text + definitions);
}

Result<void> add_definitions(const AddArguments& arguments) {
  TRY(const auto definitions, definitions_of(arguments.names));
  if (arguments.file.empty()) {
    std::cout << "engines:\n" << definitions;
    return {};
  }
  TRY_VOID(add_to_file(arguments.file, definitions));
  std::cout << fmt::format("{}: added {}. A template asks them by name, for instance:\n", arguments.file,
                           fmt::join(arguments.names, ", "));
  for (const std::string& name : arguments.names)
    std::cout << fmt::format("  - {{id: {}, engine: {}, query: '{{QUERY}}'}}\n", name, name);
  return {};
}

struct GuessArguments {
  std::string source;  ///< a file, or a URL
  std::string content_type;
  std::string name = "guessed";
};

/// Prints a definition derived from an answer, and what it reads from that answer.
Result<void> guess_definition(const GuessArguments& arguments) {
  TRY(const auto guessed, guess_engine(arguments.source, arguments.name, arguments.content_type));
  const auto& hits = guessed.found.hits;
  std::cout << guessed.definition << fmt::format("# {} results in this answer\n", hits.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(3, hits.size()); ++i)
    std::cout << "# " << fetchers::printable(hits[i].title) << "\n#   " << fetchers::printable(hits[i].url)
              << '\n';
  return {};
}

}  // namespace

void add_catalogue(CLI::App& engines, Program& program) {
  auto [list, chosen] =
      add_verb(engines, "list", "list the engines of the built-in catalogue", list_engines, program);
  list.add_option("KIND", chosen.kind,
                  "answers, archives, books, code, files, indexes, maps, media, news, packages, pictures, "
                  "questions, science, self-hosted, smaller-web, teams, videos, web, wikis or work");
  list.add_flag("--json", chosen.is_json, "as JSON, with home page, terms, rate and query syntax");
  list.footer("Example:\n  metafuse engines list science");

  auto [add, a] = add_verb(engines, "add", "add engine definitions from the catalogue to your engines file",
                           add_definitions, program);
  add.add_option("NAME", a.names, "names as printed by metafuse engines list")->required();
  add.add_option("--to", a.file, "the engine file to add to; without it, the definitions are printed");
  add.footer(
      "\"${NAME}\" in a definition is a secret: an environment variable, or a file in the credentials "
      "folder.\n"
      "Example:\n"
      "  metafuse engines add openalex arxiv --to engines.yaml");

  auto [guess, g] = add_verb(engines, "guess", "write an engine definition from a sample answer",
                             guess_definition, program);
  guess.add_option("SOURCE", g.source, "a saved answer (JSON, XML, HTML), or a URL that is requested once")
      ->required();
  guess.add_option("--name", g.name, "the engine's name");
  guess.add_option("--content-type", g.content_type, "content type of the saved answer");
  guess.footer(
      "It guesses from the names and values in the answer; check the results that it prints.\n"
      "Examples:\n"
      "  metafuse engines guess answer.json > engine.yaml\n"
      "  metafuse engines guess 'https://api.example.org/search?q=otter' --name otters");
}

}  // namespace metafuse::cli
