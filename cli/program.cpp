#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <metafuse_commit.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/contract.h"
#include "fetchers/answers/answer_text.h"
#include "service/base/process.h"

namespace metafuse::cli {
namespace {

/// Prints an error to standard error, one message per line, and returns its exit status. Control characters
/// that came from an input are replaced, so that they cannot act on the terminal.
int report(const Error& error) {
  const std::string_view text = error.text;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::cerr << styled(STDERR_FILENO, Style::failure, "metafuse:") << ' '
              << fetchers::printable(text.substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
  return static_cast<int>(error.code);
}

/// What --version prints: version, commit, and what is built in.
std::string version_text(const std::string& name) {
  return fmt::format("{} {}\ncommit    {}\nfeatures  SQLite, PostgreSQL, Redis, gzip, xz, zstd{}", name,
                     service::version(), kCommit, METAFUSE_MPI ? ", MPI" : "");
}

/// The exit status after all output was written: a failure if standard output did not take it.
int flushed() {
  if (std::cout.flush()) return 0;
  return report(fail(Code::try_again, "standard output: cannot write; is it closed, or the disk full?"));
}

/// In examples, the program's own name in place of the product's.
void show_own_name(CLI::App& app, const std::string& name) {
  constexpr std::string_view kProduct = "metafuse ";
  if (name + ' ' == kProduct) return;
  std::string footer = app.get_footer();
  for (std::size_t at = 0; (at = footer.find(kProduct, at)) != std::string::npos; at += name.size())
    footer.replace(at, kProduct.size() - 1, name);
  app.footer(footer);
  for (CLI::App* verb : app.get_subcommands({})) show_own_name(*verb, name);
}

void add_group(CLI::App& app, Program& program, const VerbGroup& group) {
  const std::string ungrouped = app.get_group();
  for (const AddVerb add : group.verbs) add(app, program);
  for (CLI::App* verb : app.get_subcommands({}))
    if (verb->get_group() == ungrouped) verb->group(group.heading);  // hidden verbs stay hidden
}

int run(Program& program, const std::vector<std::string>& typed) {
  CLI::App app{program.name + ": " + program.meaning, program.name};
  app.add_option_function<std::string>("--color", choose_colour,
                                       "auto, always or never; auto respects NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.set_version_flag("-V,--version", version_text(program.name));
  app.require_subcommand(1);
  app.footer(program.name + " help VERB explains a verb, with examples.");
  auto [words, is_help_whole] = understand(typed);
  app.formatter(help_formatter(is_help_whole));  // set before the verbs are added, because they inherit it
  for (const VerbGroup& group : program.verbs) add_group(app, program, group);
  show_own_name(app, program.name);
  check_all_numbers(app);
  if (words.empty()) {
    std::cerr << app.help();
    return static_cast<int>(Code::usage);
  }
  if (auto checked = check_words(app, words); !checked) return report(checked.error());
  try {
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
      return report(fail(Code::usage, std::string(error.what()) + "; see " + chosen_verb(app) + " --help"));
    app.exit(error);  // prints the help that was requested
    return flushed();
  }
  return program.outcome ? flushed() : report(program.outcome.error());
}

}  // namespace

int run_program(Program program, int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f fails like one to a full disk
  try {
    return run(program, {argv + 1, argv + std::max(argc, 1)});
  } catch (const ContractViolation& error) {
    return report(fail(Code::internal, std::string("internal error: ") + error.what()));
  } catch (const std::bad_alloc&) {
    return report(fail(Code::try_again, "out of memory; use less data or a machine with more memory"));
  } catch (const std::exception& error) {
    return report(fail(Code::internal, std::string("an unexpected failure: ") + error.what()));
  }
}

}  // namespace metafuse::cli
