#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "tests/support/scripted_transport.h"

namespace metafuse::test {

/// The definition of an engine that reads the chaos server's answers.
inline std::string block(const std::string& name, const std::string& url, const std::string& more = "",
                         const std::string& timeout = "0.7") {
  return "  - {name: " + name + ", engine: json_engine, search_url: \"" + url +
         "\", results_query: results, url_query: url, title_query: title, content_query: content, timeout: " +
         timeout + (more.empty() ? "" : ", " + more) + "}\n";
}

inline std::vector<fetchers::Engine> engines_of(const std::string& blocks) {
  const auto file = fetchers::parse_engine_file("engines:\n" + blocks, "test.yaml");
  if (!file) FAIL(file.error().text);
  return file->engines;
}

inline std::shared_ptr<fetchers::Fetcher> fetcher_of(const std::string& blocks,
                                                     fetchers::FetcherOptions options = {}) {
  auto fetcher = make_fetcher(engines_of(blocks), std::move(options));
  REQUIRE(fetcher.has_value());
  return *fetcher;
}

inline fetchers::FetchedList fetch_one(fetchers::Fetcher& fetcher, const std::string& engine,
                                       Duration wait = std::chrono::seconds(2)) {
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", engine, "a b"};
  return fetcher.fetch({&query, 1}, {.deadline = Deadline(clock, wait)}, {}).front();
}

/// The list of one search that asks these engines alone.
inline fetchers::FetchedList ask_alone(const std::string& blocks, Script& script, int depth = 10) {
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", "e", "x"};
  return fetcher_of(blocks, scripted_options(script))
      ->fetch({&query, 1}, {.depth = depth, .deadline = Deadline(clock, std::chrono::seconds(5))}, {})
      .front();
}

}  // namespace metafuse::test
