#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/server_configuration.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/answers/reasons.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"

namespace metafuse::cli {
namespace {

struct SearchArguments {
  std::string config;
  std::string domain;
  std::vector<std::string> settings;
  std::vector<std::string> words;
  int limit = 10;
  bool is_explained = false;
  bool is_json = false;
};

Result<service::SearchRequest> request_of(const SearchArguments& arguments) {
  service::SearchRequest request;
  request.domain = arguments.domain;
  for (const std::string& word : arguments.words) request.text += (request.text.empty() ? "" : " ") + word;
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::usage, "--set " + setting + ": write it as NAME=VALUE");
    const auto [at, is_new] =
        request.slots.slots.emplace(setting.substr(0, equals), setting.substr(equals + 1));
    if (!is_new) return fail(Code::usage, "the slot " + at->first + " is set twice; keep one");
  }
  if (request.text.empty() == request.slots.slots.empty())
    return fail(Code::usage, "give either a QUERY or --set NAME=VALUE for each slot");
  return request;
}

void print_text(const service::Snapshot& snapshot, const service::SearchAnswer& answer,
                const SearchArguments& arguments) {
  if (!answer.fusion.notice.empty()) std::cerr << "metafuse: " << answer.fusion.notice << '\n';
  for (const auto& list : answer.lists)
    if (list.has_failed())
      std::cerr << "metafuse: " << list.query.feature_name() << ": " << service::failure_text(list) << '\n';
  if (answer.results.empty()) std::cerr << "metafuse: no result\n";
  const service::LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  int rank = 0;
  for (const service::FusedResult& result : service::window_of(answer, 0, arguments.limit)) {
    std::cout << ++rank << '\t' << service::short_number(result.score) << '\t' << result.hit.url << '\t'
              << result.hit.title << '\n';
    if (!arguments.is_explained) continue;
    for (const service::Reason& reason : service::reasons_of(domain, answer, result))
      std::cout << '\t' << service::weight_text(reason) << '\t' << reason.feature << '\t'
                << (reason.rank > 0 ? "rank " + std::to_string(reason.rank) : "unranked") << '\n';
  }
}

Result<void> search(const SearchArguments& arguments) {
  TRY(const auto request, request_of(arguments));
  TRY(const auto config, read_server_configuration(arguments.config, ""));
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  const SteadyClock clock;
  TRY(const auto answer, service::search(*snapshot, request, clock));
  if (arguments.is_json)
    std::cout << to_pretty_text(service::native_json(
        *snapshot, answer, service::shown_results(answer, 0, arguments.limit, {}), arguments.is_explained));
  else
    print_text(*snapshot, answer, arguments);
  return {};
}

}  // namespace

void add_search(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("search", "search once: expand, fetch, fuse");
  auto arguments = std::make_shared<SearchArguments>();
  verb->add_option("--config", arguments->config, "server configuration (YAML)")->required();
  verb->add_option("--domain", arguments->domain, "domain; the configuration's default without it");
  verb->add_option("--set", arguments->settings, "NAME=VALUE, a slot of the base query");
  verb->add_option("QUERY", arguments->words, "a plain query instead of slots");
  verb->add_option("--limit", arguments->limit, "results to print")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag("--explain", arguments->is_explained, "print what each list adds to each result's score");
  verb->add_flag("--json", arguments->is_json, "print the answer of POST /v1/search");
  verb->footer(
      "A line a result: rank, score, URL, title.\n"
      "Examples:\n"
      "  metafuse search --config config/metafuse.yaml --set NAME='Ada Lovelace' --set AFFILIATION=London\n"
      "  metafuse search --config demo/metafuse.yaml --explain text editor");
  verb->callback([arguments, &outcome] { outcome = search(*arguments); });
}

}  // namespace metafuse::cli
