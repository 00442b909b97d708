#pragma once

// Reading the command line: what CLI11 would let pass, or refuse without saying what would do.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/reports/report.h"

namespace metafuse::cli {

/// What was typed, `help VERB` and `version` turned into the options of the same meaning, and --color first.
struct TypedWords {
  std::vector<std::string> words;
  bool is_help_whole = false;  ///< `--help=all`
};

TypedWords understand(std::vector<std::string> typed);

/// The group of an option that most people never need: only `--help=all` shows it, and the manual.
std::string rare_group(const std::string& title);

/// Help without the rare groups, and a last line that says how to see them; or, when `is_whole`, all of it.
std::shared_ptr<CLI::Formatter> help_formatter(bool is_whole);

/// The first mistake that needs no value to be seen: an empty argument, a word that is no verb, an option
/// that the verb does not have, a verb without its sub-verb. Names that are near are named.
///
/// errors: usage
Result<void> check_words(const CLI::App& app, const std::vector<std::string>& words);

/// The command whose --help says what was expected: "metafuse model show".
std::string chosen_verb(const CLI::App& app);

/// CLI11 lets -1 and 2^64 wrap around in an option that counts, and NaN and infinity pass in one that
/// measures: refuses them in every option of every verb.
void check_all_numbers(CLI::App& app);

/// Checks of an option's number whose refusal says in a few words what would do.
CLI::Validator at_least_zero();
CLI::Validator above_zero();

/// Each as "metafuse: warning: ..." on standard error.
void print_warnings(const std::vector<std::string>& warnings);

/// --threads, --output and --format, which mean the same for every verb that has them.
CLI::Option* add_threads(CLI::App& verb, unsigned& threads, const char* meaning = "threads to use");
CLI::Option* add_output(CLI::App& verb, std::string& output, const char* meaning);
void add_report_format(CLI::App& verb, std::string& format);

/// The values of `option`, each NAME=VALUE.
///
/// errors: usage: a value without a name, a name that stands twice
Result<std::map<std::string, std::string>> read_settings(const std::string& option,
                                                         const std::vector<std::string>& values);

/// errors: usage, naming the formats or modes that there are
Result<evaluation::Format> chosen_format(const std::string& name);
Result<evaluation::Mode> chosen_mode(const std::string& name);

/// Keeps the numbers 0 to 2 for the standard streams: where the caller closed one (`>&-`), the next file to
/// be opened would take its number, and what was meant for the stream would end in the file. Using such a
/// stream still fails.
void hold_standard_streams();

}  // namespace metafuse::cli
