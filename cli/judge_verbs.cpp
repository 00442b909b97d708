// `metafuse judge`: asks a language model for grades, and says what its grades are worth.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "core/number.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/answers/answer_text.h"
#include "service/judges/chat_endpoint.h"
#include "service/judges/judge_pool.h"
#include "service/judges/judge_report.h"
#include "service/judges/judge_run.h"
#include "service/learning/judging.h"
#include "service/learning/recording.h"
#include "service/search/search_pipeline.h"
#include "service/store/store.h"

namespace metafuse::cli {
namespace {

constexpr const char* kJudgeKey = "METAFUSE_JUDGE_KEY";
constexpr std::size_t kMaxKeyBytes = 8192;
constexpr std::size_t kMaxPromptFileBytes = std::size_t{1} << 20;

struct JudgeArguments {
  ConfigChoice config;
  service::JudgePoolOptions pool;
  service::ChatModel model;
  service::JudgeRunOptions run;
  std::string queries;
  std::size_t most_asked = 50;
  std::string prompt;
  std::string key_file;
  std::string answers;
  std::string output;
  std::vector<std::string> budget;
  std::vector<std::string> price;
  bool is_store_left = false;
  bool is_prompt_printed = false;
  bool is_report = false;
  bool is_calibration = false;
  bool is_json = false;
  std::vector<const CLI::Option*> asking;  ///< options that say nothing to a report
};

/// Reads settings NAME=NUMBER of an option into the variables of their names.
Result<void> read_numbers(const std::string& option, const std::vector<std::string>& values,
                          const std::map<std::string, double*>& variables) {
  TRY(const auto settings, read_settings(option, values));
  for (const auto& [name, value] : settings) {
    const auto at = variables.find(name);
    std::string names;
    for (const auto& [known, variable] : variables) names += (names.empty() ? "" : ", ") + known;
    if (at == variables.end())
      return fail(Code::usage, fmt::format("{}: unknown name {}; there are {}", option, name, names));
    if (!to_double(value, *at->second) || !(*at->second > 0 && *at->second <= 1e15))
      return fail(Code::usage,
                  fmt::format("{}: {} must be a number above 0, not \"{}\"", option, name, value));
  }
  return {};
}

Result<service::JudgeBudget> chosen_budget(const JudgeArguments& arguments) {
  service::JudgeBudget budget;
  double requests = 0;
  double tokens = 0;
  TRY_VOID(read_numbers("--budget", arguments.budget,
                        {{"requests", &requests}, {"tokens", &tokens}, {"money", &budget.money}}));
  TRY_VOID(read_numbers("--price", arguments.price,
                        {{"input", &budget.input_price}, {"output", &budget.output_price}}));
  if (requests != std::floor(requests) || tokens != std::floor(tokens))
    return fail(Code::usage, "--budget: requests and tokens are whole numbers of 1 or more");
  if (budget.money > 0 && (budget.input_price <= 0 || budget.output_price <= 0))
    return fail(Code::usage,
                "--budget money=... needs --price input=... output=..., the prices of a million tokens");
  budget.requests = static_cast<std::uint64_t>(requests);
  budget.tokens = static_cast<std::uint64_t>(tokens);
  return budget;
}

Result<service::JudgePrompt> chosen_prompt(const JudgeArguments& arguments) {
  if (arguments.prompt.empty()) return service::JudgePrompt::built_in();
  TRY(auto text, read_text(arguments.prompt, kMaxPromptFileBytes));
  return service::JudgePrompt::parse(std::move(text), arguments.prompt);
}

/// The key from --key-file or the environment; empty without one.
Result<std::string> chosen_key(const JudgeArguments& arguments) {
  std::string key;
  if (!arguments.key_file.empty()) {
    TRY(key, read_text(arguments.key_file, kMaxKeyBytes));
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
    if (key.empty()) return fail(Code::bad_data, arguments.key_file + ": is empty; put the key into it");
  } else {
    key = environment_secret(kJudgeKey).value_or("");
  }
  const bool is_printable = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_printable)
    return fail(Code::bad_data,
                "the key for the model contains blanks or control characters; check " +
                    (arguments.key_file.empty() ? std::string(kJudgeKey) : arguments.key_file));
  return key;
}

/// The file of answers: the one that is named, else one beside an SQLite store, else in this folder.
std::string answers_file(const JudgeArguments& arguments, const service::ServerConfig& config) {
  if (!arguments.answers.empty()) return arguments.answers;
  const std::string name = "judge-" + arguments.pool.domain + ".jsonl";
  if (config.store.empty() || service::is_postgres_url(config.store)) return name;
  return (std::filesystem::path(config.store).parent_path() / name).string();
}

/// Waits, but no longer than until the run has ended, as it does when it is interrupted.
void pause_until_end(Duration duration, const IsInterrupted& has_ended) {
  constexpr std::chrono::milliseconds kStep{50};
  const Clock& clock = machine_clock();
  const Deadline deadline(clock, duration);
  while (!deadline.has_passed() && !has_ended())
    std::this_thread::sleep_for(std::min<Duration>(kStep, deadline.left()));
}

/// What the verb works with.
struct JudgeSetting {
  service::ServerConfig config;
  std::shared_ptr<const service::Snapshot> snapshot;
  std::unique_ptr<service::Store> store;  ///< nullptr if it is not needed
  std::string secret;
  bool is_written = false;  ///< the grades go into the store
};

Result<JudgeSetting> open_setting(const JudgeArguments& arguments) {
  JudgeSetting setting;
  TRY(const auto file, chosen_config(arguments.config));
  TRY(setting.config, read_server_configuration(file));
  setting.config.models.clear();  // the pool is that of the lists, whatever a model makes of them
  setting.config.recordings.mode = service::RecordingsConfig::Mode::off;
  TRY(setting.snapshot, service::load_snapshot(setting.config, engine_loader()));
  print_warnings(setting.snapshot->warnings);
  TRY_VOID(service::named_domain(*setting.snapshot, arguments.pool.domain));
  if (setting.config.store.empty() && !arguments.is_store_left && arguments.output.empty())
    return fail(Code::bad_config,
                file + ": has no store for judgments; add store: FILE, or give --output FILE");
  if (arguments.is_store_left && arguments.output.empty())
    return fail(Code::usage, "--no-store needs --output FILE, or the grades would go nowhere");
  setting.is_written = !setting.config.store.empty() && !arguments.is_store_left;
  // the most asked queries are also read beside a server, which alone may write
  if (!setting.is_written && (setting.config.store.empty() || !arguments.queries.empty())) return setting;
  const auto mode = setting.is_written ? service::StoreMode::serve : service::StoreMode::read;
  TRY(setting.store, service::open_store(setting.config.store, mode, setting.config.store_secret));
  TRY(setting.secret, setting.store->privacy.secret());
  return setting;
}

Result<std::vector<BaseQuery>> queries_to_judge(const JudgeArguments& arguments,
                                                const JudgeSetting& setting) {
  if (arguments.queries.empty()) {
    if (setting.store == nullptr)
      return fail(Code::usage, "without a store, say which queries to judge: --queries FILE");
    TRY(auto asked, service::most_asked(*setting.store, *setting.snapshot, arguments.pool.domain,
                                        arguments.most_asked, machine_clock()));
    if (asked.wordless > 0)
      std::cerr << fmt::format(
          "metafuse: {} more queries of the store cannot be judged, because their words are not kept\n",
          asked.wordless);
    return std::move(asked.queries);
  }
  TRY(const auto read, service::read_judged_queries(arguments.queries, setting.config.tracking));
  std::vector<BaseQuery> queries;
  for (const auto& query : read) queries.push_back(query.slots);
  return queries;
}

/// Where the grades went, what was spent, and why a run ended early.
void print_run(const service::JudgeRun& run, const JudgeArguments& arguments, std::size_t judgments) {
  std::cout << fmt::format("{}: {} judgments ({} graded now, {} known before, {} refused, {} left)\n",
                           service::model_judge(arguments.model.model), judgments, run.graded, run.known,
                           run.refused, run.left);
  std::cout << fmt::format("{} requests, {} input and {} output tokens", run.requests, run.input_tokens,
                           run.output_tokens);
  if (!arguments.price.empty()) std::cout << fmt::format(", {:.4f} in money", run.money);
  std::cout << '\n';
  if (run.cut > 0)
    std::cout << fmt::format("{} answer{} cut off; raise --answer-tokens\n", run.cut,
                             run.cut == 1 ? " was" : "s were");
}

/// What to do about documents that got no grade; fails if none got one.
Result<void> explain_refusals(const service::JudgeRun& run, const std::string& answers) {
  constexpr std::size_t kShownBytes = 200;
  if (run.refused == 0) return {};
  const std::string answer =
      ascii_squeezed(fetchers::printable(truncate_utf8(to_valid_utf8(run.refused_answer), kShownBytes)));
  const std::string first =
      run.refused_answer.empty() ? "" : fmt::format("; the first answer without one: \"{}\"", answer);
  if (run.graded + run.known == 0)
    return fail(Code::unavailable,
                fmt::format("the model gave no grade{}; {}", first,
                            run.refused == run.cut ? "raise --answer-tokens" : "see --print-prompt"));
  if (run.asked_again > run.cut)
    std::cerr << fmt::format("metafuse: {} documents got no grade{}; the next run asks for them again\n",
                             run.asked_again - run.cut, first);
  if (run.refused > run.asked_again)
    std::cerr << fmt::format(
        "metafuse: {} documents got no grade{}; to have them asked again, remove the lines with "
        "\"grade\":null from {}\n",
        run.refused - run.asked_again, first, answers);
  return {};
}

Result<void> write_grades(const JudgeArguments& arguments, JudgeSetting& setting,
                          const service::JudgePool& pool, const service::JudgeRun& run) {
  const auto batch = service::judgments_of(pool, run, arguments.pool);
  if (setting.is_written) TRY_VOID(setting.store->add_batch(batch));
  if (!arguments.output.empty())
    TRY_VOID(write_file(arguments.output, service::qrels_of(pool, run, arguments.pool.identity.plain_slot)));
  print_run(run, arguments, batch.judgments.size());
  if (run.is_interrupted)
    return fail(Code::try_again,
                fmt::format("interrupted; {} documents are left: run the same command again", run.left));
  if (!run.ended_by.empty())
    std::cerr << fmt::format("metafuse: {}; {} documents are left{}\n", run.ended_by, run.left,
                             run.requests > 0 ? ": run the same command again for more" : "");
  return explain_refusals(run, answers_file(arguments, setting.config));
}

/// Reports and files have the name of a judge on one line.
Result<void> check_model_name(const std::string& name) {
  TRY_VOID(check_utf8("--model", name));
  if (fetchers::printable(name) == name) return {};
  return fail(Code::usage, "--model: the name contains control characters; leave them out");
}

Result<void> ask_for_grades(JudgeArguments& arguments) {
  if (arguments.model.url.empty() || arguments.model.model.empty())
    return fail(Code::usage, "give the model's server and name: --endpoint URL --model NAME");
  TRY_VOID(check_model_name(arguments.model.model));
  TRY(arguments.run.budget, chosen_budget(arguments));
  TRY(const auto prompt, chosen_prompt(arguments));
  TRY(arguments.model.key, chosen_key(arguments));
  TRY(auto guard, fetchers::AddressGuard::make({}));
  const auto transport = fetchers::make_curl_transport(std::move(guard));
  TRY(const auto endpoint, service::ChatEndpoint::make(*transport, arguments.model, arguments.run.parallel));
  if (!arguments.output.empty()) TRY_VOID(check_writable(arguments.output));
  TRY(auto setting, open_setting(arguments));
  TRY(const auto queries, queries_to_judge(arguments, setting));
  TRY(const auto kept, service::KeptAnswers::open(answers_file(arguments, setting.config)));
  TRY(const service::LoadedDomain* const domain,
      service::named_domain(*setting.snapshot, arguments.pool.domain));
  service::JudgePoolOptions& pooling = arguments.pool;
  pooling.judge = service::model_judge(arguments.model.model);
  pooling.identity = {setting.secret, setting.config.privacy.hash_queries,
                      service::plain_slot(domain->domain)};
  pooling.now = seconds_now();
  watch_interrupts();
  pooling.is_interrupted = arguments.run.is_interrupted = was_interrupted;
  pooling.progress = terminal_progress("search");
  const Clock& clock = machine_clock();
  TRY(const auto pool, service::pool_results(*setting.snapshot, queries, pooling, clock));
  for (const std::string& failure : pool.failures) std::cerr << "metafuse: " << failure << '\n';
  if (pool.unasked > 0) std::cerr << fmt::format("metafuse: {} queries could not be asked\n", pool.unasked);
  if (pool.empty > 0) std::cerr << fmt::format("metafuse: {} queries found nothing\n", pool.empty);
  std::vector<service::JudgeTask> tasks;
  for (const service::PooledQuery& query : pool.queries) tasks.push_back(query.task);
  arguments.run.progress = terminal_progress("judge");
  arguments.run.pause = pause_until_end;
  TRY(const auto run, service::run_judge(endpoint, prompt, tasks, *kept, arguments.run));
  return write_grades(arguments, setting, pool, run);
}

/// errors: usage: the configuration has no such domain
Result<void> check_domain(service::ServerConfig config, const std::string& domain) {
  config.models.clear();
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  TRY_VOID(service::named_domain(*snapshot, domain));
  return {};
}

/// Prints what the grades in the store are worth.
Result<void> report_on_judges(const JudgeArguments& arguments) {
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  if (config.store.empty()) return fail(Code::bad_config, file + ": has no store; add store: FILE");
  TRY(const auto store, service::open_store(config.store, service::StoreMode::read, config.store_secret));
  service::JudgeReportOptions options;
  options.domain = arguments.pool.domain;
  options.is_learned = arguments.is_report;
  options.threads = hardware_threads();
  options.progress = terminal_progress("learn");
  TRY(auto reports, service::judge_reports(*store, options));
  if (!arguments.model.model.empty())
    std::erase_if(reports, [&](const service::JudgeReport& report) {
      return report.judge != service::model_judge(service::model_name(arguments.model.model));
    });
  if (reports.empty()) TRY_VOID(check_domain(config, options.domain));
  if (reports.empty())
    return fail(Code::bad_data, "domain " + options.domain + ": the store has no judgment of " +
                                    (arguments.model.model.empty() ? "a language model"
                                                                   : "the model " + arguments.model.model) +
                                    "; metafuse judge --endpoint URL --model NAME makes some");
  JsonArray rows;
  for (const service::JudgeReport& report : reports) {
    rows.push_back(service::report_json(report));
    if (!arguments.is_json) std::cout << service::report_text(report, arguments.is_calibration);
  }
  if (arguments.is_json)
    std::cout << to_pretty_text(JsonObject{{"domain", options.domain}, {"judges", std::move(rows)}});
  return {};
}

/// Options of asking say nothing to a report, and those of a report nothing to asking.
Result<void> check_together(const JudgeArguments& a) {
  if (!a.is_report && !a.is_calibration)
    return a.is_json ? fail(Code::usage, "--json prints a report; add --report or --calibrate")
                     : Result<void>();
  for (const CLI::Option* option : a.asking)
    if (option->count() > 0)
      return fail(Code::usage,
                  fmt::format("--report and --calibrate ask no model; leave out {}", option->get_name()));
  return {};
}

Result<void> judge(JudgeArguments& arguments) {
  if (arguments.is_prompt_printed) {
    TRY(const auto prompt, chosen_prompt(arguments));
    std::cout << prompt.text();
    return {};
  }
  if (arguments.pool.domain.empty()) return fail(Code::usage, "give the domain to judge: --domain NAME");
  arguments.model.model = service::model_name(arguments.model.model);
  TRY_VOID(check_together(arguments));
  if (arguments.is_report || arguments.is_calibration) return report_on_judges(arguments);
  return ask_for_grades(arguments);
}

void add_asking_options(CLI::App& verb, JudgeArguments& a) {
  verb.add_option("--endpoint", a.model.url,
                  "server with OpenAI's chat interface: http://HOST:PORT, https://HOST/v1, or the whole "
                  "address, also with "
                  "a query such as ?api-version=...");
  verb.add_option(
      "--key-file", a.key_file,
      "file with the API key; default: the environment variable METAFUSE_JUDGE_KEY, or the file of "
      "that name in $CREDENTIALS_DIRECTORY");
  verb.add_option(
      "--queries", a.queries,
      "base queries to judge, JSON lines as metafuse record reads them; default: the most asked ones "
      "of the store");
  add_defaulted(verb, "--most-asked", a.most_asked, "without --queries: how many of the most asked queries")
      ->check(CLI::Range(1, 100000));
  add_defaulted(verb, "--depth", a.pool.depth, "how far down each list its results are judged")
      ->check(CLI::Range(1, service::kMaxPoolDepth));
  add_defaulted(verb, "--documents-per-request", a.run.documents_per_request,
                "documents that are graded in one request; only with 1 no document can move another's grade")
      ->check(CLI::Range(1, 50));
  add_defaulted(verb, "--parallel", a.run.parallel, "requests under way at once")->check(CLI::Range(1, 256));
  add_defaulted(verb, "--timeout", a.model.timeout_seconds, "seconds to wait for an answer")
      ->check(CLI::Range(0.1, 3600.0));
  verb.add_option(
          "--budget", a.budget,
          "limits of this run, any of requests=NUMBER, tokens=NUMBER and money=NUMBER; no request is sent "
          "that could exceed one, by the tokens that earlier ones had")
      ->type_name("NAME=NUMBER");
  verb.add_option(
          "--price", a.price,
          "prices of a million tokens, input=NUMBER and output=NUMBER, both for --budget money=NUMBER")
      ->type_name("NAME=NUMBER");
}

void add_report_options(CLI::App& verb, JudgeArguments& a) {
  verb.add_flag(
      "--report", a.is_report,
      "ask nothing: print how far the models in the store agree with people, and what is learned from "
      "either");
  verb.add_flag(
      "--calibrate", a.is_calibration,
      "ask nothing: print how each model's grades are to be read, and how many more judgments of people "
      "would be worth it");
  verb.add_flag("--json", a.is_json, "with --report or --calibrate: as JSON");
}

}  // namespace

void add_judge(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "judge", "let a language model grade results, and measure what its grades are worth",
               judge, program);
  add_config_option(verb, a.config);
  verb.add_option("--domain", a.pool.domain, "domain whose results are judged");
  verb.add_option("--model", a.model.model,
                  "the model's name at the endpoint; its judgments are marked model:NAME");
  const auto shared = static_cast<std::ptrdiff_t>(verb.get_options().size());
  add_asking_options(verb, a);
  verb.add_option("--output", a.output, "also write the grades as qrels into this file");
  verb.add_flag("--no-store", a.is_store_left,
                "do not write the grades into the store, only into --output; works beside a running server");
  verb.add_option("--answers", a.answers,
                  "file that keeps the grade in every answer, so that no question is asked twice; default: "
                  "judge-DOMAIN.jsonl beside the store");
  verb.add_option("--prompt", a.prompt,
                  "file with another prompt, with the gaps {mark}, {query} and {documents}");
  verb.add_flag("--print-prompt", a.is_prompt_printed, "print the prompt, to edit it");
  add_defaulted(
      verb, "--answer-tokens", a.model.answer_tokens,
      "tokens that an answer may have, more for a model that thinks first; 0 for what the grades need")
      ->check(CLI::Range(0, 1000000));
  add_defaulted(verb, "--deadline", a.pool.query_seconds, "time limit in seconds for the lists of one query")
      ->check(CLI::Range(0.1, 3600.0));
  const auto options = verb.get_options();
  a.asking.assign(options.begin() + shared, options.end());
  add_report_options(verb, a);
  verb.footer(
      "Judgments of a model are learned from only on request: metafuse train --weight MODEL=0.3 or --only "
      "MODEL, learning: {judge_model: MODEL} in the server. Stop the server of an SQLite file first, or give "
      "--no-store.\n"
      "Examples:\n"
      "  metafuse judge --domain support --endpoint http://127.0.0.1:8000 --model qwen2.5 --depth 5\n"
      "  metafuse judge --domain support --endpoint https://api.example.org --model large --queries q.jsonl "
      "\\\n"
      "    --budget money=2 --price input=0.15 output=0.6 --documents-per-request 5\n"
      "  metafuse judge --domain support --report\n"
      "  metafuse judge --domain support --calibrate");
}

}  // namespace metafuse::cli
