#include "service/learning/recording.h"

#include <filesystem>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

TEST_CASE("A document that is judged twice has the better grade in the recording", "[service][recording]") {
  const test::TemporaryFolder folder;
  Snapshot snapshot;
  LoadedDomain domain;
  domain.domain.name = "pages";
  domain.domain.slots.push_back({"Q", true, ""});
  domain.domain.templates.push_back({"t", {"e"}, "{Q}"});
  snapshot.domains.emplace("pages", domain);
  snapshot.engines.fetcher = std::make_shared<test::FakeFetcher>([](const ExpandedQuery&) {
    return test::list_of({"a.example", "b.example"});
  });
  JudgedBaseQuery query;
  query.id = "1";
  query.slots.slots["Q"] = "ada";
  for (const auto& [key, grade] :
       {std::pair{"a.example", 2}, {"a.example", 1}, {"b.example", 1}, {"b.example", 3}})
    query.relevant.push_back({std::string("http://") + key + "/", key, grade});
  RecordOptions options;
  options.domain = "pages";
  options.output = folder.path("recording");
  std::filesystem::create_directories(options.output);
  const test::ManualClock clock;
  const auto report = record_lists(snapshot, {query}, options, clock);
  if (!report) FAIL(report.error().text);
  CHECK(report->unanswerable == 0);
  CHECK(*read_text(options.output + "/qrels", 1000) == "1 0 a.example 2\n1 0 b.example 3\n");
}
