#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"

// An engine with `auth:`, whose secrets are "s3cret-" and their names.
namespace metafuse::test {

inline const std::string kKeys =
    "engine: json_engine, search_url: \"https://api.example/s?q={query}\", results_query: r, url_query: u, "
    "title_query: t, ";
inline const std::string kAnswer = R"({"r":[{"u":"https://a.example/","t":"A"}]})";

inline Result<fetchers::EngineFile> file_with(const std::string& auth) {
  return fetchers::parse_engine_file("engines:\n  - {name: e, " + kKeys + "auth: {" + auth + "}}\n",
                                     "e.yaml");
}

inline std::shared_ptr<fetchers::Fetcher> fetcher_with(const std::string& auth,
                                                       fetchers::FetcherOptions options) {
  auto file = file_with(auth);
  if (!file) FAIL(file.error().text);
  options.secret_of = [](std::string_view name) { return std::optional("s3cret-" + std::string(name)); };
  auto fetcher = fetchers::make_fetcher(std::move(file->engines), std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  return *fetcher;
}

inline fetchers::FetchedList search_once(fetchers::Fetcher& fetcher, const Clock& clock,
                                         const std::string& text = "x",
                                         std::vector<std::pair<std::string, std::string>> forwarded = {}) {
  const ExpandedQuery query{"t", "e", text};
  return fetcher
      .fetch({&query, 1},
             {.deadline = Deadline(clock, std::chrono::seconds(5)), .forwarded = std::move(forwarded)}, {})
      .front();
}

inline std::string header_of(const fetchers::EngineRequest& request, const std::string& name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return {};
}

}  // namespace metafuse::test
