// Man pages and shell completions, generated from the same options as --help. `cmake --install` runs
// both verbs.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/text.h"
#include "evaluation/measures/measure.h"
#include "fetchers/definition/engine_types.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fusion_method.h"
#include "service/base/process.h"
#include "service/config/config.h"

namespace metafuse::cli {
namespace {

using Apps = std::vector<const CLI::App*>;
using NamedVerbs = std::vector<std::pair<std::string, const CLI::App*>>;
using Rows = std::vector<std::pair<std::string, std::string>>;

Apps shown_verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

/// All verbs shown by --help, with the sub-verbs: "serve", "model show".
void gather_verbs(const CLI::App& app, const std::string& path, NamedVerbs& found) {
  for (const CLI::App* verb : shown_verbs(app)) {
    const std::string name = path.empty() ? verb->get_name() : path + ' ' + verb->get_name();
    found.emplace_back(name, verb);
    gather_verbs(*verb, name, found);
  }
}

NamedVerbs all_verbs(const CLI::App& verb) {
  const CLI::App* root = &verb;
  while (root->get_parent() != nullptr) root = root->get_parent();
  NamedVerbs found;
  gather_verbs(*root, "", found);
  return found;
}

// Man pages

/// Escapes text for roff, so that no line begins a request and hyphens and backslashes print as they are.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string option_title(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("\\fB" + roff("-" + name) + "\\fR");
  for (const std::string& name : option.get_lnames()) names.push_back("\\fB" + roff("--" + name) + "\\fR");
  if (names.empty()) names.push_back("\\fI" + roff(option.get_name()) + "\\fR");
  std::string title = fmt::format("{}", fmt::join(names, ", "));
  if (option.get_items_expected_max() > 0 && !option.get_positional())
    title += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return title;
}

std::string man_options(const CLI::App& verb) {
  std::string text;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_group().empty()) continue;
    text += ".TP\n" + option_title(*option) + "\n" + roff(option->get_description());
    if (!option->get_default_str().empty()) text += roff(" [" + option->get_default_str() + "]");
    if (option->get_required()) text += " (required)";
    text += "\n";
  }
  return text;
}

/// The name of a verb's page: "metafuse-model-show".
std::string page_name(const Program& program, const std::string& path) {
  std::string name = program.name + '-' + path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

/// The text below a verb's help: paragraphs are filled, examples, which are indented, keep their lines.
std::string man_notes(const std::string& footer) {
  std::string text;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);)
    text += line.starts_with(' ') ? ".nf\n" + roff(line) + "\n.fi\n" : ".br\n" + roff(line) + "\n";
  return text;
}

std::string man_page(const Program& program, const std::string& path, const CLI::App& verb) {
  const std::string name = page_name(program, path);
  std::string page =
      fmt::format(".TH {} 1 \"\" \"metafuse {}\" \"metafuse manual\"\n", upper(name), service::version());
  page += ".SH NAME\n" + roff(name) + " \\- " + roff(verb.get_description()) + "\n.SH SYNOPSIS\n.B " +
          roff(program.name + ' ' + path) + "\n";
  const Apps below = shown_verbs(verb);
  if (!below.empty()) {
    page += "\\fIVERB\\fR\n.SH VERBS\n";
    for (const CLI::App* next : below)
      page += ".TP\n\\fB" + roff(next->get_name()) + "\\fR\n" + roff(next->get_description()) + "\n";
  } else {
    page += "[\\fIOPTION\\fR]...";
    for (const CLI::Option* option :
         verb.get_options([](const CLI::Option* o) { return o->get_positional(); }))
      page += fmt::format(" \\fI{}\\fR{}", roff(option->get_name()),
                          option->get_items_expected_max() > 1 ? "..." : "");
    page += "\n";
  }
  page += ".SH OPTIONS\n" + man_options(verb);
  if (!verb.get_footer().empty()) page += ".SH NOTES\n" + man_notes(verb.get_footer());
  return page + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", roff(program.name));
}

std::string first_page(const Program& program, const NamedVerbs& verbs) {
  std::string page = fmt::format(".TH {} 1 \"\" \"metafuse {}\" \"metafuse manual\"\n", upper(program.name),
                                 service::version());
  page += fmt::format(
      ".SH NAME\n{0} \\- {1}\n.SH SYNOPSIS\n.B {0}\n\\fIVERB\\fR [\\fIOPTION\\fR]...\n.SH VERBS\n",
      roff(program.name), roff(program.meaning));
  for (const auto& [path, verb] : verbs)
    page += ".TP\n\\fB" + roff(path) + "\\fR\n" + roff(verb->get_description()) + "\n";
  if (program.is_server)
    page +=
        ".SH ENVIRONMENT\n.TP\nMETAFUSE_CONFIG\nthe server configuration, unless \\-\\-config names one\n"
        ".TP\nMETAFUSE_LISTEN, METAFUSE_STORE, METAFUSE_MODELS, METAFUSE_REDIS\noverride the configuration "
        "keys of the same name\n"
        ".SH FILES\n.TP\n\\&./metafuse.yaml, ~/.config/metafuse/metafuse.yaml, /etc/metafuse/metafuse.yaml\n"
        "server configuration: the first that exists\n";
  page +=
      ".SH EXIT STATUS\n.TP\n0\nsuccess\n.TP\n64\na mistake on the command line\n.TP\n65\nbad data or "
      "configuration\n"
      ".TP\n66\na file that cannot be read or written\n.TP\n69\nsomething that is needed is not available\n"
      ".TP\n70\nan internal error\n.TP\n75\nsomething that may work when tried again\n.TP\n78\na bad "
      "configuration\n";
  std::vector<std::string> names;
  for (const auto& [path, verb] : verbs) names.push_back("\n.BR " + roff(page_name(program, path)) + " (1)");
  if (program.is_server) {
    names.push_back("\n.BR metafuse.yaml (5)");
    names.push_back("\n.BR " + roff("metafuse-engines.yaml") + " (5)");
  }
  names.push_back("\n.BR " + roff(program.name + "-learners") + " (7)");
  return page + fmt::format(".SH SEE ALSO{}\n", fmt::join(names, ","));
}

/// A man page that lists names with their meanings, made from one of the program's tables.
std::string table_page(const std::string& title, int section, const std::string& about,
                       const std::string& text, const Rows& rows) {
  std::string page = fmt::format(".TH {} {} \"\" \"metafuse {}\" \"metafuse manual\"\n", upper(title),
                                 section, service::version());
  page += fmt::format(".SH NAME\n{} \\- {}\n.SH DESCRIPTION\n{}\n", roff(title), roff(about), roff(text));
  for (const auto& [name, meaning] : rows)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(meaning));
  return page + ".SH SEE ALSO\n.BR metafuse (1)\n";
}

std::string configuration_page() {
  Rows rows;
  std::istringstream lines(service::config_reference());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    rows.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return table_page(
      "metafuse.yaml", 5, "server configuration of metafuse",
      "YAML. Paths are relative to the file's folder. An unknown key is an error with its line; "
      "`metafuse config check FILE` reports every mistake at once.",
      rows);
}

std::string engines_page() {
  Rows rows;
  for (const fetchers::EngineType& type : fetchers::engine_types())
    rows.emplace_back("engine: " + std::string(type.name), type.meaning);
  return table_page(
      "metafuse-engines.yaml", 5, "engine definitions of metafuse",
      "YAML: a list `engines:` of blocks with a `name`, an `engine` (one of the types below) and the keys of "
      "that type. `metafuse engines check FILE` reports every mistake at once, `metafuse engines "
      "try NAME QUERY` asks an engine and shows what was read.",
      rows);
}

std::string learners_page(const Program& program) {
  Rows rows;
  for (const fusion::Learner& learner : program.learners) {
    std::string text = learner.meaning;
    for (const fusion::LearnerOption& option : learner.options)
      text += fmt::format("\n--{} {}: {}", option.name, option.values, option.meaning);
    rows.emplace_back(learner.name, text);
  }
  return table_page(program.name + "-learners", 7, "learners of metafuse and their options",
                    "The names that `" + program.name + " train --learner NAME` accepts.", rows);
}

struct ManualArguments {
  std::string folder;
  const Program* program = nullptr;
  const CLI::App* app = nullptr;
};

Result<void> run_manual(const ManualArguments& arguments) {
  for (const char* section : {"man1", "man5", "man7"}) {
    std::error_code error;
    std::filesystem::create_directories(arguments.folder + '/' + section, error);
    if (error) return fail(Code::no_input, arguments.folder + ": " + error.message());
  }
  const auto verbs = all_verbs(*arguments.app);
  const Program& program = *arguments.program;
  const std::string first = arguments.folder + "/man1/" + program.name;
  TRY_VOID(write_file(first + ".1", first_page(program, verbs)));
  if (program.is_server) {
    TRY_VOID(write_file(arguments.folder + "/man5/metafuse.yaml.5", configuration_page()));
    TRY_VOID(write_file(arguments.folder + "/man5/metafuse-engines.yaml.5", engines_page()));
  }
  TRY_VOID(write_file(arguments.folder + "/man7/" + program.name + "-learners.7", learners_page(program)));
  for (const auto& [path, verb] : verbs)
    TRY_VOID(write_file(arguments.folder + "/man1/" + page_name(program, path) + ".1",
                        man_page(program, path, *verb)));
  return {};
}

}  // namespace

void add_manual(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "manual", "write the man pages", run_manual, program);
  a.program = &program;
  a.app = &verb;
  verb.group("");  // for packagers only, so not in --help
  verb.add_option("FOLDER", a.folder,
                  "where to write man1/metafuse.1, man1/metafuse-VERB.1, man5/metafuse.yaml.5 ...")
      ->required();
}

namespace {

/// The options whose values are names, with these names.
Rows named_values(const Program& program) {
  const auto joined = [](const auto& rows) { return fmt::format("{}", fmt::join(names_of(rows), " ")); };
  return {{"--learner", joined(program.learners)},
          {"--learners", joined(program.learners)},
          {"--method", joined(fusion::fusion_methods())},
          {"--methods", joined(fusion::fusion_methods())},
          {"--measures", joined(evaluation::all_measures())},
          {"--metric", joined(evaluation::all_measures())},
          {"--format", "table trec_eval json csv markdown latex html"},
          {"--mode", "trec10 trec9 letor3 letor4 mslr gdeval"}};
}

std::string words_of(const Program& program, const CLI::App& verb) {
  std::string words;
  for (const CLI::App* next : shown_verbs(verb)) words += next->get_name() + " ";
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  if (const auto at = program.words.find(verb.get_name()); at != program.words.end())
    for (const std::string& word : at->second) words += word + " ";
  if (!words.empty()) words.pop_back();
  return words;
}

/// The name of the shell's function: "_metafuse".
std::string function_name(const Program& program) {
  std::string name = '_' + program.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The completion for bash. The words typed so far determine `path`, the verb to complete, such as
/// "model show".
std::string bash_completion(const Program& program, const CLI::App& root, const NamedVerbs& verbs) {
  std::string paths;
  std::string cases = fmt::format("    \"\") words=\"{}\" ;;\n", words_of(program, root));
  for (const auto& [path, verb] : verbs) {
    paths += fmt::format("|\"{}\"", path);
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, words_of(program, *verb));
  }
  std::string values;
  for (const auto& [option, names] : named_values(program))
    values += fmt::format("    {}) words=\"{}\" ;;\n", option, names);
  return fmt::format(R"(# bash completion of {0}, printed by `{0} completion bash`
{1}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path="" word words=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{path:+$path }}$word" in
    {2}) path="${{path:+$path }}$word" ;;
    esac
  done
  case "$previous" in
{3}    *) case "$path" in
{4}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F {1} {0}
)",
                     program.name, function_name(program), paths.substr(1), values, cases);
}

std::string zsh_completion(const Program& program, const std::string& bash) {
  return fmt::format(
      "#compdef {0}\n# zsh completion of {0}, printed by `{0} completion zsh`\n"
      "autoload -U +X bashcompinit && bashcompinit\n{1}_bash_complete -o default -F {2}\n",
      program.name, bash, function_name(program));
}

/// Quotes the first line of a text with single quotes for fish.
std::string fish_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text.substr(0, text.find('\n')))
    out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return out + "'";
}

std::string fish_completion(const Program& program, const CLI::App& root, const NamedVerbs& verbs) {
  std::string text =
      fmt::format("# fish completion of {0}, printed by `{0} completion fish`\n", program.name);
  for (const CLI::App* verb : shown_verbs(root))
    text += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", program.name,
                        verb->get_name(), fish_text(verb->get_description()));
  const auto values = named_values(program);
  for (const auto& [path, verb] : verbs) {
    std::string seen;
    std::istringstream words(path);
    for (std::string word; words >> word;)
      seen += (seen.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    for (const CLI::App* next : shown_verbs(*verb))
      text += fmt::format("complete -c {} -n '{}' -f -a {} -d {}\n", program.name, seen, next->get_name(),
                          fish_text(next->get_description()));
    for (const CLI::Option* option : verb->get_options())
      for (const std::string& name : option->get_lnames()) {
        std::string line = fmt::format("complete -c {} -n '{}' -l {} -d {}", program.name, seen, name,
                                       fish_text(option->get_description()));
        if (option->get_items_expected_max() > 0) line += " -r";
        for (const auto& [named, names] : values)
          if (named == "--" + name) line += fmt::format(" -f -a '{}'", names);
        text += line + "\n";
      }
  }
  return text;
}

struct CompletionArguments {
  std::string shell;
  const Program* program = nullptr;
  const CLI::App* app = nullptr;
};

Result<void> run_completion(const CompletionArguments& arguments) {
  const auto verbs = all_verbs(*arguments.app);
  const CLI::App& root = *arguments.app->get_parent();
  const Program& program = *arguments.program;
  if (arguments.shell == "bash")
    std::cout << bash_completion(program, root, verbs);
  else if (arguments.shell == "zsh")
    std::cout << zsh_completion(program, bash_completion(program, root, verbs));
  else if (arguments.shell == "fish")
    std::cout << fish_completion(program, root, verbs);
  else
    return fail(Code::usage, "no completion for \"" + arguments.shell + "\"" +
                                 did_you_mean(arguments.shell, {"bash", "zsh", "fish"}));
  return {};
}

}  // namespace

void add_completion(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "completion", "print the completion of a shell", run_completion, program);
  a.program = &program;
  a.app = &verb;
  verb.add_option("SHELL", a.shell, "bash, zsh or fish")->required();
  verb.footer("Example:\n  source <(metafuse completion bash)");
}

}  // namespace metafuse::cli
