// The verbs that watch engines: engines health and engines repair.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/calling/trial.h"
#include "fetchers/definition/definition_edit.h"
#include "fetchers/health/health_book.h"
#include "fetchers/health/repair.h"

namespace metafuse::cli {
namespace {

using fetchers::Engine;
using fetchers::HealthBook;

constexpr std::size_t kMostProfileBytes = std::size_t{64} << 20;
constexpr std::size_t kMostSavedAnswer = std::size_t{64} << 20;

struct HealthArguments {
  std::vector<std::string> names;
  ConfigChoice config;
  std::string profiles;
  std::size_t queries = 3;
  bool is_json = false;
};

/// One engine's answers to the queries of this run.
struct HealthRow {
  const Engine* engine = nullptr;
  std::vector<fetchers::Oddities> answers;
  std::size_t asked = 0, results = 0;
  double seconds = 0;
  std::string message;  ///< of a failure

  std::pair<fetchers::HealthState, fetchers::Oddity> state() const { return state_shown_by(answers); }
  bool is_broken() const { return state().first != fetchers::HealthState::works; }
};

/// The profiles, and where they are kept.
struct Profiles {
  std::string file;
  HealthBook book;
  FileLock lock;
  bool may_write = false;
};

Result<void> open_profiles(Profiles& profiles, const std::string& file, const std::vector<Engine>& engines) {
  profiles.file = file;
  // The lock comes first: a server that ends in between would save what this run then overwrites.
  if (!file.empty()) {
    auto lock = FileLock::take(file + ".lock", "a running server keeps " + file);
    profiles.may_write = lock.has_value();
    if (lock)
      profiles.lock = std::move(*lock);
    else
      print_warnings({lock.error().text + "; what this run learns is not kept"});
  }
  std::error_code error;
  if (!file.empty() && std::filesystem::exists(file, error)) {
    TRY(const auto text, read_text(file, kMostProfileBytes));
    TRY_VOID(profiles.book.read(text, file));
  }
  std::vector<fetchers::WatchedEngine> watched;
  for (const Engine& engine : engines) watched.push_back(fetchers::watched(engine));
  profiles.book.watch(watched);
  return {};
}

Result<void> save_profiles(const Profiles& profiles) {
  if (!profiles.may_write) return {};
  return write_file(profiles.file, profiles.book.text(), FileAccess::owner);
}

Result<std::vector<const Engine*>> chosen_engines(const std::vector<Engine>& engines,
                                                  const std::vector<std::string>& names,
                                                  const std::string& path) {
  std::vector<const Engine*> out;
  for (const std::string& name : names) {
    const Engine* engine = fetchers::find_engine(engines, name);
    if (engine == nullptr)
      return fail(Code::usage,
                  fmt::format("no engine \"{}\" in {}{}", name, path, did_you_mean(name, names_of(engines))));
    if (!std::holds_alternative<fetchers::HttpAccess>(engine->access))
      return fail(Code::usage, fmt::format("the engine \"{}\" is not asked over HTTP; its answers have the "
                                           "form of its definition by construction",
                                           name));
    out.push_back(engine);
  }
  if (names.empty())
    for (const Engine& engine : engines)
      if (fetchers::may_be_tried(engine)) out.push_back(&engine);
  if (out.empty())
    return fail(Code::usage, path + ": no engine that can be tried without a key; name those to be tried");
  return out;
}

/// Asks every engine its next query, all at once.
void ask_once(fetchers::Fetcher& fetcher, HealthBook& book, std::vector<HealthRow>& rows, std::size_t turn) {
  std::vector<ExpandedQuery> queries;
  double seconds = 1;
  for (const HealthRow& row : rows) {
    const auto tried = fetchers::queries_to_try(*row.engine, book.known(row.engine->name), turn, 1);
    queries.push_back({"health", row.engine->name, tried.front()});
    seconds = std::max(seconds, row.engine->timeout_seconds + 1);
  }
  const Clock& clock = machine_clock();
  const auto patience = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  const auto lists = fetcher.fetch(queries, {.depth = 10, .deadline = Deadline(clock, patience)}, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    HealthRow& row = rows[i];
    ++row.asked;
    row.results += lists[i].list.hits.size();
    row.seconds += std::chrono::duration<double>(lists[i].elapsed).count();
    if (lists[i].has_failed()) row.message = lists[i].message;
    if (const auto oddities = book.note_own(lists[i], seconds, seconds_now()))
      row.answers.push_back(*oddities);
  }
}

void print_health(const std::vector<HealthRow>& rows, const HealthBook& book, bool is_json) {
  JsonArray out;
  if (!is_json)
    std::cout << fmt::format("{:<24} {:<8} {:>7} {:>6} {:>7}  {}\n", "ENGINE", "STATE", "RESULTS", "USUAL",
                             "SECONDS", "WHY");
  for (const HealthRow& row : rows) {
    const auto [state, sign] = row.state();
    const auto known = book.find(row.engine->name);
    const double results = static_cast<double>(row.results) / static_cast<double>(row.asked);
    const double seconds = row.seconds / static_cast<double>(row.asked);
    std::string why = row.is_broken() ? std::string(words_of(sign)) : std::string();
    if (row.is_broken() && !row.message.empty()) why += ": " + row.message;
    if (is_json) {
      JsonObject one{{"engine", row.engine->name},
                     {"state", name_of(state)},
                     {"results", results},
                     {"seconds", seconds},
                     {"why", why}};
      if (known && known->usual_results) one["usual_results"] = *known->usual_results;
      out.push_back(std::move(one));
      continue;
    }
    const std::string usual =
        known && known->usual_results ? fmt::format("{:.0f}", *known->usual_results) : std::string("-");
    std::cout << fmt::format("{:<24} {:<8} {:>7.1f} {:>6} {:>7.2f}  {}\n", row.engine->name, name_of(state),
                             results, usual, seconds, why);
  }
  if (is_json) std::cout << to_pretty_text(JsonObject{{"engines", std::move(out)}});
}

Result<void> show_health(const HealthArguments& arguments) {
  TRY(const auto path, chosen_config(arguments.config));
  TRY(auto definitions, read_definitions(path));
  TRY(const auto chosen, chosen_engines(definitions.engines, arguments.names, path));
  Profiles profiles;
  TRY_VOID(open_profiles(profiles, arguments.profiles.empty() ? definitions.profiles : arguments.profiles,
                         definitions.engines));
  std::vector<HealthRow> rows;
  std::vector<Engine> asked;
  for (const Engine* engine : chosen) {
    rows.emplace_back().engine = engine;
    asked.push_back(*engine);
    asked.back().is_disabled = false;
  }
  fetchers::FetcherOptions options;
  options.allow_private = definitions.allow_private;
  options.secret_of = environment_secret;
  options.uses_breaker = false;
  TRY(auto fetcher, fetchers::make_fetcher(std::move(asked), std::move(options)));
  for (std::size_t turn = 0; turn < arguments.queries; ++turn) ask_once(*fetcher, profiles.book, rows, turn);
  print_health(rows, profiles.book, arguments.is_json);
  TRY_VOID(save_profiles(profiles));
  const auto broken =
      std::count_if(rows.begin(), rows.end(), [](const HealthRow& row) { return row.is_broken(); });
  if (broken == 0) return {};
  return fail(Code::unavailable,
              fmt::format("{} of {} engines do not answer as they should; metafuse engines repair NAME "
                          "proposes a definition for one that has changed",
                          broken, rows.size()));
}

struct RepairArguments {
  std::string name;
  ConfigChoice config;
  std::string profiles;
  std::string before;
  std::string answer;
  std::string content_type;
  bool applies = false;
};

/// A query's results of before, and the answer to it now.
struct RepairCase {
  std::vector<Hit> examples;
  std::string body;
  fetchers::AnswerContext context;
};

/// From saved answers: one that the definition reads, and one of now to the same query.
Result<RepairCase> saved_case(const RepairArguments& arguments, const fetchers::HttpAccess& access) {
  RepairCase out;
  out.context.url = access.url.substr(0, access.url.find_first_of("?{"));
  out.context.content_type = arguments.content_type;
  TRY(const auto old, read_text(arguments.before, kMostSavedAnswer));
  const auto list = fetchers::parse_answer(access.answer, old, out.context);
  if (!list) return fail(Code::bad_data, arguments.before + ": " + list.error().text);
  out.examples = list->hits;
  TRY(out.body, read_text(arguments.answer, kMostSavedAnswer));
  return out;
}

/// Asks the engine what it answered before.
Result<std::vector<RepairCase>> asked_cases(const RepairArguments& arguments, const Engine& engine,
                                            const Definitions& definitions) {
  Profiles profiles;
  TRY_VOID(open_profiles(profiles, arguments.profiles.empty() ? definitions.profiles : arguments.profiles,
                         definitions.engines));
  std::vector<RepairCase> out;
  fetchers::TrialOptions options;
  options.allow_private = definitions.allow_private;
  options.secret_of = environment_secret;
  for (const fetchers::KnownAnswer& known : profiles.book.known(engine.name)) {
    if (known.hits.size() < 2) continue;
    TRY(auto answer, fetchers::last_answer(engine, known.query, options));
    fetchers::AnswerContext context{answer.url, std::string(answer.header("content-type")), ""};
    out.push_back({known.hits, std::move(answer.body), std::move(context)});
  }
  if (!out.empty()) return out;
  return fail(
      Code::usage,
      fmt::format("no earlier results of {} are known; run metafuse engines health while it works (with "
                  "`engine_health: {{file: ...}}` in the configuration), or give --before and --answer",
                  engine.name));
}

/// How many of a case's results rules find.
std::size_t found_by(const fetchers::AnswerRules& rules, const RepairCase& one) {
  const auto list = fetchers::parse_answer(rules, one.body, one.context);
  if (!list) return 0;
  const auto is_found = [&](const Hit& example) {
    return std::any_of(list->hits.begin(), list->hits.end(), [&](const Hit& hit) {
      return hit.url == example.url &&
             fetchers::plain_letters(hit.title) == fetchers::plain_letters(example.title);
    });
  };
  return static_cast<std::size_t>(std::count_if(one.examples.begin(), one.examples.end(), is_found));
}

/// The repair of the first case that all cases agree with best.
Result<fetchers::Repair> best_repair(const fetchers::AnswerRules& old, const std::vector<RepairCase>& cases) {
  Result<fetchers::Repair> best = fail(Code::bad_data, "nothing to repair from");
  std::size_t most = 0;
  for (const RepairCase& one : cases) {
    auto repair = fetchers::repaired_rules(old, one.body, one.context, one.examples);
    if (!repair) {
      if (most == 0) best = repair.error();
      continue;
    }
    std::size_t found = 0;
    for (const RepairCase& other : cases) found += found_by(repair->rules, other);
    if (found <= most) continue;
    most = found;
    best = std::move(repair);
  }
  return best;
}

Result<void> apply_repair(const Engine& engine, const Definitions& definitions,
                          const fetchers::Repair& repair) {
  const auto file = definitions.file_of.find(engine.name);
  if (file == definitions.file_of.end()) return fail(Code::internal, "the engine's file is not known");
  TRY(const auto text, read_text(file->second, std::size_t{16} << 20));
  TRY(const auto edited, fetchers::with_repaired_rules(text, file->second, engine, repair.rules));
  TRY_VOID(write_file(file->second, edited));
  std::cout << "# written to " << file->second << '\n';
  return {};
}

Result<void> repair_engine(const RepairArguments& arguments) {
  TRY(const auto path, chosen_config(arguments.config));
  TRY(const auto definitions, read_definitions(path));
  TRY(const auto chosen, chosen_engines(definitions.engines, {arguments.name}, path));
  const Engine& engine = *chosen.front();
  if (arguments.before.empty() != arguments.answer.empty())
    return fail(Code::usage, "--before and --answer belong together: an answer from before, and one of now");
  std::vector<RepairCase> cases;
  const auto& access = std::get<fetchers::HttpAccess>(engine.access);
  if (arguments.before.empty()) {
    TRY(cases, asked_cases(arguments, engine, definitions));
  } else {
    TRY(auto one, saved_case(arguments, access));
    cases.push_back(std::move(one));
  }
  const auto repair = best_repair(access.answer, cases);
  if (!repair) return fail(repair.error().code, engine.name + ": " + repair.error().text);
  std::cout << fetchers::rules_difference(access.answer, repair->rules);
  std::size_t found = 0, known = 0;
  for (const RepairCase& one : cases) {
    found += found_by(repair->rules, one);
    known += one.examples.size();
  }
  std::cout << fmt::format("# {} of {} known results found in {} answers; {} results in the first\n", found,
                           known, cases.size(), repair->list.hits.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(3, repair->list.hits.size()); ++i)
    std::cout << "# " << fetchers::printable(repair->list.hits[i].title) << "\n#   "
              << fetchers::printable(repair->list.hits[i].url) << '\n';
  if (arguments.applies) return apply_repair(engine, definitions, *repair);
  std::cerr << "metafuse: nothing was changed; --apply writes this into the definition\n";
  return {};
}

}  // namespace

void add_engine_health(CLI::App& engines, Program& program) {
  auto [health, h] =
      add_verb(engines, "health", "ask engines known queries and compare with their earlier answers",
               show_health, program);
  health.add_option("NAME", h.names, "engines; without names, all that need no key");
  add_config_option(health, h.config, "a server configuration or an engines file");
  health.add_option("--profiles", h.profiles,
                    "file of the engines' usual answers; default: engine_health.file of the configuration");
  add_defaulted(health, "--queries", h.queries, "queries per engine")->check(CLI::Range(1, 20));
  health.add_flag("--json", h.is_json, "as JSON");
  health.footer(
      "States: works, empty, blocked, changed, slow, gone. Exit status 69 if any engine does not work.\n"
      "Examples:\n"
      "  metafuse engines health\n"
      "  metafuse engines health web --config engines.yaml --profiles state/engines.json");

  auto [repair, r] =
      add_verb(engines, "repair", "propose a definition for an engine whose answers have changed",
               repair_engine, program);
  repair.add_option("NAME", r.name, "the engine's name")->required();
  add_config_option(repair, r.config, "a server configuration or an engines file");
  repair.add_option("--profiles", r.profiles,
                    "file of the engines' usual answers; default: engine_health.file of the configuration");
  repair.add_option("--before", r.before, "a saved answer that the definition reads");
  repair.add_option("--answer", r.answer, "a saved answer of now to the same query; nothing is sent");
  repair.add_option("--content-type", r.content_type, "content type of the saved answers");
  repair.add_flag("--apply", r.applies, "write the proposal into the engine's file");
  repair.footer(
      "The results that the engine gave before show where they are now.\n"
      "Examples:\n"
      "  metafuse engines repair web\n"
      "  metafuse engines repair web --config engines.yaml --before old.html --answer new.html --apply");
}

}  // namespace metafuse::cli
