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
#include "core/text.h"
#include "service/base/process.h"

// Settings of jemalloc, the program's allocator (cli/CMakeLists.txt). jemalloc reads the variable
// `malloc_conf` when it first allocates, before main().
//
// An uncached search makes and frees several thousand short strings. With glibc's allocator they cost a
// fifth of the search's processor time, with jemalloc about half as much (bench/README.md). Few threads
// allocate at once, so two arenas are enough. Pages that stay free for half a second go back to the system,
// so that a burst of requests leaves no memory behind. Threads cache blocks of up to 4 KiB only.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:2,background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0,lg_tcache_max:12";
}

namespace metafuse::cli {
namespace {

/// Every verb, in the order of --help.
// clang-format off
constexpr AddVerb kVerbs[] = {
    add_init,
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
    add_lists,
    add_experiment,
    add_key,
    add_mcp,
    add_model,
    add_serve,
    add_store,
    add_suggest_judgments,
    add_doctor,
    add_completion,
    add_manual,
};
// clang-format on

/// Prints an error to standard error, one message per line, and returns its exit status. Control characters
/// that came from an input are replaced, so that they cannot act on the terminal.
int report(const Error& error) {
  const std::string_view text = error.text;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = to_valid_utf8(text.substr(begin, end - begin));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; }, '?');
    std::cerr << styled(STDERR_FILENO, Style::failure, "metafuse:") << ' ' << line << '\n';
    begin = end + 1;
  }
  return static_cast<int>(error.code);
}

/// What --version prints: version, commit, and what is built in.
std::string version_text() {
  return fmt::format("metafuse {}\ncommit    {}\nfeatures  SQLite, PostgreSQL, Redis, gzip, xz, zstd{}",
                     service::version(), kCommit, METAFUSE_MPI ? ", MPI" : "");
}

/// The exit status after all output was written: a failure if standard output did not take it.
int flushed() {
  if (std::cout.flush()) return 0;
  return report(fail(Code::try_again, "standard output: cannot write; is it closed, or the disk full?"));
}

int run(const std::vector<std::string>& typed) {
  CLI::App app{"metafuse: meta-search whose fusion is learned from judged queries", "metafuse"};
  app.add_option_function<std::string>("--color", choose_colour,
                                       "auto, always or never; auto respects NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  app.footer("metafuse help VERB explains a verb, with examples.");
  auto [words, is_help_whole] = understand(typed);
  app.formatter(help_formatter(is_help_whole));  // set before the verbs are added, because they inherit it
  Result<void> outcome;
  for (const AddVerb add : kVerbs) add(app, outcome);
  check_all_numbers(app);
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
  return outcome ? flushed() : report(outcome.error());
}

}  // namespace
}  // namespace metafuse::cli

int main(int argc, char** argv) {
  using metafuse::Code;
  metafuse::cli::hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f fails like one to a full disk
  try {
    return metafuse::cli::run({argv + 1, argv + std::max(argc, 1)});
  } catch (const metafuse::ContractViolation& error) {
    return metafuse::cli::report(
        metafuse::fail(Code::internal, std::string("internal error: ") + error.what()));
  } catch (const std::bad_alloc&) {
    return metafuse::cli::report(
        metafuse::fail(Code::try_again, "out of memory; use less data or a machine with more memory"));
  } catch (const std::exception& error) {
    return metafuse::cli::report(
        metafuse::fail(Code::internal, std::string("an unexpected failure: ") + error.what()));
  }
}
