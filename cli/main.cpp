#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "cli/near_names.h"
#include "cli/number_checks.h"
#include "cli/standard_streams.h"
#include "cli/verbs.h"
#include "core/contract.h"
#include "core/utf8.h"
#include "service/base/version.h"

namespace metafuse::cli {
namespace {

/// Every verb, in the order of --help.
// clang-format off
constexpr AddVerb kVerbs[] = {
    add_expand,
    add_templates,
    add_engines,
    add_config,
    add_index,
    add_search,
    add_record,
    add_train,
    add_score,
    add_fuse,
    add_evaluate,
    add_compare_methods,
    add_crossvalidate,
    add_experiment,
    add_key,
    add_model,
    add_serve,
    add_store,
};
// clang-format on

/// An error of several lines is several mistakes; each line is complete in itself. What an input's bytes
/// would do to a terminal is not done.
int report(Code code, std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = to_valid_utf8(text.substr(begin, end - begin));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; }, '?');
    std::cerr << "metafuse: " << line << '\n';
    begin = end + 1;
  }
  return static_cast<int>(code);
}

/// Names the first word that stands where a verb (or a verb's verb, as in `model show`) belongs and is none.
/// out: empty when there is no such word
std::string unknown_verb(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && at->get_require_subcommand_min() > 0 && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* verb : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(verb->get_name());
      if (verb->check_name(word)) next = verb;
    }
    if (next == nullptr) {
      std::vector<std::string> near = near_names(word, names);
      const std::string end = near.empty() ? "" : "?";
      const std::string lead = near.empty() ? "see metafuse --help; the verbs are" : "did you mean";
      if (near.empty()) near = names;
      std::string shown;
      for (const std::string& name : near) shown += (shown.empty() ? " " : ", ") + name;
      return "\"" + word + "\" is no verb of " + at->get_name() + "; " + lead + shown + end;
    }
    at = next;
  }
  return {};
}

/// The command whose --help says what was expected: "metafuse model show".
std::string chosen_verb(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* verb : app.get_subcommands()) name += ' ' + chosen_verb(*verb);
  return name;
}

/// An empty argument is a shell variable that was not set: the option would be taken as not given.
bool has_empty_argument(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* argument) { return *argument == '\0'; });
}

/// The exit status when all is said: whether standard output took it.
int flushed() {
  if (std::cout.flush()) return 0;
  return report(Code::try_again, "standard output: cannot write; is it closed, or the disk full?");
}

int run(int argc, char** argv) {
  CLI::App app{"metafuse: meta-search whose fusion is learned from judged queries", "metafuse"};
  app.set_version_flag("--version", std::string(service::version()));
  app.require_subcommand(1);
  Result<void> outcome;
  for (const AddVerb add : kVerbs) add(app, outcome);
  if (const std::string unknown = unknown_verb(app, argc, argv); !unknown.empty())
    return report(Code::usage, unknown);
  check_all_numbers(app);
  if (has_empty_argument(argc, argv))
    return report(Code::usage, "an argument is empty; give it a value or leave it out");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);  // prints the help that was asked for
      return flushed();
    }
    return report(Code::usage, std::string(error.what()) + "; see " + chosen_verb(app) + " --help");
  }
  if (!outcome) return report(outcome.error().code, outcome.error().text);
  return flushed();
}

}  // namespace
}  // namespace metafuse::cli

int main(int argc, char** argv) {
  using metafuse::Code;
  metafuse::cli::hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f fails like one to a full disk
  try {
    return metafuse::cli::run(argc, argv);
  } catch (const metafuse::ContractViolation& error) {
    return metafuse::cli::report(Code::internal, std::string("a mistake of ours: ") + error.what());
  } catch (const std::bad_alloc&) {
    return metafuse::cli::report(Code::try_again, "out of memory; give it less to do or a larger machine");
  } catch (const std::exception& error) {
    return metafuse::cli::report(Code::internal, std::string("an unexpected failure: ") + error.what());
  }
}
