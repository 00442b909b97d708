#pragma once

// Reading the command line: finds the mistakes that CLI11 lets pass, and explains those that it only refuses.

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/reports/report.h"

namespace metafuse::cli {

/// The words of the command line, with `help VERB` and `version` turned into the equivalent options and
/// --color moved to the front.
struct TypedWords {
  std::vector<std::string> words;
  bool is_help_whole = false;  ///< `--help=all` was given
};

TypedWords understand(std::vector<std::string> typed);

/// The group of an option that few users need: it appears only in `--help=all` and in the manual.
std::string rare_group(const std::string& title);

/// The formatter of --help. It leaves out the rare groups and adds a last line that tells how to see them;
/// with `is_whole`, it prints everything.
std::shared_ptr<CLI::Formatter> help_formatter(bool is_whole);

/// Finds the first mistake that can be seen without looking at values: an empty argument, an unknown verb, an
/// option that the verb does not have, a verb without its sub-verb. The error suggests similar names.
///
/// errors: usage
Result<void> check_words(const CLI::App& app, const std::vector<std::string>& words);

/// The command whose --help describes what was expected, such as "metafuse model show".
std::string chosen_verb(const CLI::App& app);

/// Adds checks to every numeric option of every verb. CLI11 would wrap -1 and 2^64 around in an unsigned
/// option, and accept NaN and infinity in a floating-point one.
void check_all_numbers(CLI::App& app);

/// The names of the rows of a table, such as the learners.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

/// Range checks for an option, whose message says briefly which numbers are valid.
CLI::Validator at_least_zero();
CLI::Validator above_zero();

/// Prints each warning as "metafuse: warning: ..." on standard error.
void print_warnings(const std::vector<std::string>& warnings);

/// Adds an option whose help shows its default.
template <class Value>
CLI::Option* add_defaulted(CLI::App& verb, const char* name, Value& value, const std::string& meaning) {
  return verb.add_option(name, value, meaning)->capture_default_str();
}

/// Documents without a grade have -1, which no level may reach.
inline CLI::Range relevance_levels() {
  return {0, 1000};
}

/// Adds -l: the lowest grade that is relevant.
inline CLI::Option* add_relevance_level(CLI::App& verb, int& level,
                                        const char* meaning = "lowest grade that is relevant") {
  return add_defaulted(verb, "-l,--relevance-level", level, meaning)->check(relevance_levels());
}

/// The same where it follows from the mode if it is not given.
inline CLI::Option* add_relevance_level(CLI::App& verb, std::optional<int>& level) {
  return verb.add_option("-l,--relevance-level", level, "lowest grade that is relevant (default 1; mslr: 2)")
      ->check(relevance_levels());
}

/// Adds an option whose words each stand for a value of the variable; its initial value is the default.
template <class Value>
CLI::Option* add_choice(CLI::App& verb, const char* name, Value& value,
                        const std::vector<std::pair<std::string, std::type_identity_t<Value>>>& choices,
                        const char* meaning) {
  std::vector<std::string> words;
  std::string fallback;
  for (const auto& [word, each] : choices) {
    words.push_back(word);
    if (each == value) fallback = word;
  }
  const auto take = [&value, choices](const std::string& given) {
    for (const auto& [word, each] : choices)
      if (word == given) value = each;
  };
  return verb.add_option_function<std::string>(name, take, meaning)
      ->check(CLI::IsMember(words))
      ->default_str(fallback);
}

/// --threads, --output and --format, which mean the same in every verb that has them.
CLI::Option* add_threads(CLI::App& verb, unsigned& threads, const char* meaning = "threads to use");
CLI::Option* add_output(CLI::App& verb, std::string& output, const char* meaning);
void add_report_format(CLI::App& verb, std::string& format);

/// Parses the values of `option`, each of the form NAME=VALUE.
///
/// errors: usage: a value without a name, or a name given twice
Result<std::map<std::string, std::string>> read_settings(const std::string& option,
                                                         const std::vector<std::string>& values);

/// What a check of an option's value found, as a mistake of the command line.
///
/// errors: usage
template <class Value>
Result<void> check_option(const std::string& option, const Result<Value>& checked) {
  if (checked) return {};
  return fail(Code::usage, option + ": " + checked.error().text);
}

/// errors: usage: a text of the command line that is not UTF-8
Result<void> check_utf8(const std::string& what, const std::string& text);

/// errors: usage, naming the formats or modes that exist
Result<evaluation::Format> chosen_format(const std::string& name);
Result<evaluation::Mode> chosen_mode(const std::string& name);

/// Reserves the file descriptors 0 to 2 for the standard streams. If the caller closed one (`>&-`), the next
/// file to be opened would get its number, and output meant for the stream would end up in that file. Using
/// the closed stream still fails.
void hold_standard_streams();

}  // namespace metafuse::cli
