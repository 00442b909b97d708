#include "cli/command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iostream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "core/number.h"
#include "core/text.h"

namespace metafuse::cli {
namespace {

/// The verbs that --help shows. A verb without a group is meant for packagers.
std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* v) { return !v->get_group().empty(); }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + ' ' + app.get_name();
}

bool is_option_word(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z'));
}

/// out: the option that a word names; nullptr for none
const CLI::Option* option_of(const CLI::App& app, const std::string& word) {
  const bool is_long = word.starts_with("--");
  return app.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

Error unknown_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::vector<std::string> known = option_names(app);
  const std::string near = near_names(name, known).empty() ? "" : did_you_mean(name, known);
  const bool may_be_word = name.size() > 2 && !name.starts_with("--");  // as in a query: cats -dogs
  return fail(Code::usage, fmt::format("unknown option {}{}; see {} --help{}", name, near, full_name(app),
                                       may_be_word ? ", or write -- before it if it is no option" : ""));
}

Error unknown_verb(const CLI::App& app, const std::string& word) {
  if (word == "experiment" || word == "stream")
    return fail(Code::usage,
                fmt::format("{0} is a verb of the program metafuse-lab; see metafuse-lab {0} --help", word));
  const std::vector<std::string> names = verb_names(app);
  if (near_names(word, names).empty())
    return fail(Code::usage, fmt::format("\"{}\" is not a verb of {}; the verbs are {}; see {} --help", word,
                                         full_name(app), fmt::join(names, ", "), full_name(app)));
  return fail(Code::usage,
              fmt::format("\"{}\" is not a verb of {}{}?", word, full_name(app), did_you_mean(word, names)));
}

std::string wrong(const std::string& given, const char* wanted) {
  return "\"" + given + "\": give " + wanted;
}

bool is_number(const std::string& given, double& value) {
  return to_double(given, value) && std::isfinite(value);
}

std::string check_count(const std::string& given) {
  std::uint64_t value = 0;
  const char* end = given.data() + given.size();
  const auto [at, error] = std::from_chars(given.data(), end, value);
  return error == std::errc() && at == end ? "" : wrong(given, "a whole number, 0 or more");
}

std::string check_finite(const std::string& given) {
  double value = 0.0;
  return is_number(given, value) ? "" : wrong(given, "a number");
}

/// CLI11 identifies an option's group only by its title. The title of a rare group begins with this mark,
/// which is not printed.
constexpr std::string_view kRareMark = "\x01";

constexpr std::size_t kHelpWidth = 100;
constexpr std::size_t kTextColumn = 30;  ///< where CLI11 begins the texts of options

/// A line of the help with its long text continued below where the text began: after the column of two blanks
/// or more, or else after the indentation. Examples, which are indented and without it, stay whole.
std::string wrapped(std::string line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (line.size() <= kHelpWidth || begin == std::string::npos) return line;
  const std::size_t gap = line.find("  ", begin);
  const std::size_t column = gap == std::string::npos ? begin : line.find_first_not_of(' ', gap);
  const bool is_example = gap == std::string::npos && begin > 0 && begin < kTextColumn;
  if (is_example || column > kHelpWidth / 2) return line;
  std::string out;
  while (line.size() > kHelpWidth) {
    const std::size_t cut = line.rfind(' ', kHelpWidth);
    if (cut == std::string::npos || cut <= column) break;
    out += line.substr(0, cut) + '\n';
    line = std::string(column, ' ') + line.substr(cut + 1);
  }
  return out + line;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(bool is_whole) : is_whole_(is_whole) {}

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    const bool is_rare = group.starts_with(kRareMark);
    if (is_rare && !is_whole_) return "";
    if (is_rare) group.erase(0, kRareMark.size());
    return Formatter::make_group(group, is_positional, std::move(options));
  }

  /// The whole help, without the blank lines of groups that are not shown, and wrapped.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const std::string text = Formatter::make_help(app, std::move(name), mode);
    std::string out;
    bool was_blank = true;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (!line.empty() || !was_blank) out += wrapped(line) + '\n';
      was_blank = line.empty();
    }
    return out;
  }

  std::string make_footer(const CLI::App* app) const override {
    const std::vector<std::string> groups = app->get_groups();
    const bool is_short = !is_whole_ && std::any_of(groups.begin(), groups.end(), [](const std::string& g) {
      return g.starts_with(kRareMark);
    });
    const std::string footer = Formatter::make_footer(app);
    return is_short ? footer + "\n" + full_name(*app) + " --help=all shows all options.\n" : footer;
  }

 private:
  bool is_whole_;
};

}  // namespace

TypedWords understand(std::vector<std::string> typed) {
  // --color may be anywhere, but CLI11 expects a program's own options before the verb.
  std::vector<std::string> colour;
  const auto operands = std::find(typed.begin(), typed.end(), "--");
  const auto at = std::find_if(typed.begin(), operands, [](const std::string& word) {
    return word == "--color" || word.starts_with("--color=");
  });
  if (at != operands) {
    const auto end = *at == "--color" && at + 1 != operands ? at + 2 : at + 1;
    colour.assign(at, end);
    typed.erase(at, end);
  }
  TypedWords understood{std::move(typed)};
  std::vector<std::string>& words = understood.words;
  if (!words.empty() && (words[0] == "help" || words[0] == "version")) {
    words.push_back("--" + words[0]);
    words.erase(words.begin());
  }
  const auto whole = std::find(words.begin(), std::find(words.begin(), words.end(), "--"), "--help=all");
  understood.is_help_whole = whole != words.end() && *whole == "--help=all";
  if (understood.is_help_whole) *whole = "--help";
  words.insert(words.begin(), colour.begin(), colour.end());
  return understood;
}

std::string rare_group(const std::string& title) {
  return std::string(kRareMark) + title;
}

std::shared_ptr<CLI::Formatter> help_formatter(bool is_whole) {
  auto formatter = std::make_shared<HelpFormatter>(is_whole);
  formatter->label("SUBCOMMAND", "VERB");
  formatter->label("SUBCOMMANDS", "VERBS");
  return formatter;
}

Result<void> check_words(const CLI::App& app, const std::vector<std::string>& words) {
  // An empty argument usually comes from an unset shell variable; CLI11 would treat the option as not given.
  if (std::find(words.begin(), words.end(), "") != words.end())
    return fail(Code::usage, "an argument is empty; give it a value or leave it out");
  const CLI::App* at = &app;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (is_option_word(word)) {
      const CLI::Option* option = option_of(*at, word);
      if (option == nullptr) return unknown_option(*at, word);
      if (option == at->get_help_ptr() || option == at->get_version_ptr()) return {};
      const bool takes_next =
          option->get_items_expected_min() > 0 &&
          (word.starts_with("--") ? word.find('=') == std::string::npos : word.size() == 2);
      if (takes_next) ++i;
    } else if (at->get_require_subcommand_min() > 0) {
      const auto named = at->get_subcommands([&](const CLI::App* verb) { return verb->check_name(word); });
      if (named.empty()) return unknown_verb(*at, word);
      at = named.front();
    }
  }
  if (at->get_require_subcommand_min() == 0) return {};
  return fail(Code::usage, fmt::format("give a verb of {}: {}; see {} --help", full_name(*at),
                                       fmt::join(verb_names(*at), ", "), full_name(*at)));
}

std::string chosen_verb(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* verb : app.get_subcommands()) name += ' ' + chosen_verb(*verb);
  return name;
}

CLI::Validator at_least_zero() {
  return {[](const std::string& given) {
            double value = 0.0;
            return is_number(given, value) && value >= 0.0 ? "" : wrong(given, "a number, 0 or more");
          },
          "0 or more"};
}

CLI::Validator above_zero() {
  return {[](const std::string& given) {
            double value = 0.0;
            return is_number(given, value) && value > 0.0 ? "" : wrong(given, "a number above 0");
          },
          "above 0"};
}

void check_all_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("UINT")) option->check(check_count, "");
    if (type.starts_with("FLOAT")) option->check(check_finite, "");
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) check_all_numbers(*verb);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    std::cerr << "metafuse: " << styled(STDERR_FILENO, Style::warning, "warning") << ": " << warning << '\n';
}

CLI::Option* add_threads(CLI::App& verb, unsigned& threads, const char* meaning) {
  return add_defaulted(verb, "--threads", threads, meaning);
}

CLI::Option* add_output(CLI::App& verb, std::string& output, const char* meaning) {
  return add_defaulted(verb, "--output", output, meaning);
}

void add_report_format(CLI::App& verb, std::string& format) {
  add_defaulted(verb, "--format", format, "table, trec_eval, json, csv, markdown, latex or html");
}

Result<std::map<std::string, std::string>> read_settings(const std::string& option,
                                                         const std::vector<std::string>& values) {
  std::map<std::string, std::string> settings;
  for (const std::string& text : values) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::usage, fmt::format("{} {}: write it as NAME=VALUE", option, text));
    const auto [entry, is_new] = settings.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!is_new) return fail(Code::usage, fmt::format("{}: {} is set twice; keep one", option, entry->first));
  }
  return settings;
}

Result<void> check_utf8(const std::string& what, const std::string& text) {
  if (first_invalid_utf8(text) == std::string::npos) return {};
  return fail(Code::usage, fmt::format("{} is not UTF-8: \"{}\"", what, to_valid_utf8(text)));
}

Result<evaluation::Format> chosen_format(const std::string& name) {
  if (const auto format = evaluation::format_of(name)) return *format;
  return fail(Code::usage,
              "--format: no format \"" + name + "\"" +
                  did_you_mean(name, {"table", "trec_eval", "json", "csv", "markdown", "latex", "html"}));
}

Result<evaluation::Mode> chosen_mode(const std::string& name) {
  if (const auto mode = evaluation::mode_of(name)) return *mode;
  return fail(Code::usage, "--mode: no mode \"" + name + "\"" +
                               did_you_mean(name, {"trec10", "trec9", "letor3", "letor4", "mslr", "gdeval"}));
}

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one. It is opened in the wrong direction, so that using it fails.
    ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace metafuse::cli
