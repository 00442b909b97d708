#include <algorithm>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "cli/near_names.h"
#include "cli/verbs.h"
#include "core/contract.h"
#include "service/version.h"

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
    add_model,
    add_serve,
    add_store,
};
// clang-format on

/// An error of several lines is several mistakes; each line is complete in itself.
int report(Code code, std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::cerr << "metafuse: " << text.substr(begin, end - begin) << '\n';
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

int run(int argc, char** argv) {
  CLI::App app{"metafuse: meta-search whose fusion is learned from judged queries", "metafuse"};
  app.set_version_flag("--version", std::string(service::version()));
  app.require_subcommand(1);
  Result<void> outcome;
  for (const AddVerb add : kVerbs) add(app, outcome);
  if (const std::string unknown = unknown_verb(app, argc, argv); !unknown.empty())
    return report(Code::usage, unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return report(Code::usage, std::string(error.what()) + "; see metafuse --help");
  }
  if (!outcome) return report(outcome.error().code, outcome.error().text);
  if (!std::cout.flush()) return report(Code::try_again, "standard output: cannot write; is the disk full?");
  return 0;
}

}  // namespace
}  // namespace metafuse::cli

int main(int argc, char** argv) {
  using metafuse::Code;
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
