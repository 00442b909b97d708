#include "service/learning/recording.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// One template for one engine.
Snapshot snapshot_with(test::FakeFetcher::Answer answer) {
  Snapshot snapshot;
  LoadedDomain domain;
  domain.domain.name = "pages";
  domain.domain.slots.push_back({"Q", true, ""});
  domain.domain.templates.push_back({"t", {"e"}, "{Q}"});
  snapshot.domains.emplace("pages", domain);
  snapshot.engines.fetcher = std::make_shared<test::FakeFetcher>(std::move(answer));
  return snapshot;
}

/// The fetcher of a server whose list of tracking parameters lacks utm_source.
struct KeepingFetcher final : fetchers::Fetcher {
  std::vector<fetchers::FetchedList> fetch(
      std::span<const ExpandedQuery> queries, const fetchers::FetchOptions&,
      const std::function<void(const fetchers::FetchedList&)>&) override {
    fetchers::FetchedList list;
    list.query = queries.front();
    Hit& hit = list.list.hits.emplace_back();
    hit.url = "http://a.example/?utm_source=x";
    hit.key = "kept";
    return {list};
  }
};

JudgedBaseQuery query_for_ada() {
  JudgedBaseQuery query;
  query.id = "1";
  query.slots.slots["Q"] = "ada";
  return query;
}

}  // namespace

TEST_CASE("A document that is judged twice has the better grade in the recording", "[service][recording]") {
  const test::TemporaryFolder folder;
  const Snapshot snapshot = snapshot_with([](const ExpandedQuery&) {
    return test::list_of({"a.example", "b.example"});
  });
  JudgedBaseQuery query = query_for_ada();
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

TEST_CASE("A list that lacks pages is recorded as it came and asked again by the next run",
          "[service][recording]") {
  const test::TemporaryFolder folder;
  bool lacks_pages = true;
  const Snapshot snapshot = snapshot_with([&](const ExpandedQuery&) {
    if (!lacks_pages) return test::list_of({"a.example", "b.example"});
    auto first = test::list_of({"a.example"});
    first.lacks_pages = true;
    first.message = "page 2: no answer";
    return first;
  });
  RecordOptions options;
  options.domain = "pages";
  options.output = folder.path("recording");
  std::filesystem::create_directories(options.output);
  const test::ManualClock clock;
  const auto run = [&] { return *read_text(options.output + "/runs/t@e.run", 1000); };
  const auto short_one = record_lists(snapshot, {query_for_ada()}, options, clock);
  if (!short_one) FAIL(short_one.error().text);
  CHECK(short_one->failed_lists == 1);
  CHECK(short_one->failures == std::vector<std::string>{"e: page 2: no answer"});
  CHECK(run() == "1 Q0 a.example 1 1 t@e\n");
  lacks_pages = false;
  const auto whole = record_lists(snapshot, {query_for_ada()}, options, clock);
  CHECK(whole->resumed == 0);
  CHECK(whole->failed_lists == 0);
  CHECK(run() == "1 Q0 a.example 1 2 t@e\n1 Q0 b.example 2 1 t@e\n");
  CHECK(record_lists(snapshot, {query_for_ada()}, options, clock)->resumed == 1);
}

TEST_CASE("A line of a recording that was cut off anywhere is asked again", "[service][recording]") {
  const test::TemporaryFolder folder;
  const Snapshot snapshot = snapshot_with([](const ExpandedQuery&) { return test::list_of({"a.example"}); });
  RecordOptions options;
  options.domain = "pages";
  options.output = folder.path("recording");
  const test::ManualClock clock;
  for (const char* cut : {R"({"id":"1","complete":true,"lists":{"t@e":["x.example"]})", R"({"id":"1")"}) {
    folder.write("recording/lists.jsonl", cut);
    const auto report = record_lists(snapshot, {query_for_ada()}, options, clock);
    if (!report) FAIL(report.error().text);
    CHECK(report->resumed == 0);
    CHECK(read_text(options.output + "/runs/t@e.run", 1000)->find("a.example") != std::string::npos);
  }
  folder.write("recording/lists.jsonl", "{}\n");
  const auto refused = record_lists(snapshot, {query_for_ada()}, options, clock);
  REQUIRE(refused.has_error());
  CHECK(refused.error().text.find("lists.jsonl:1: not a line of a recording") != std::string::npos);
}

TEST_CASE("A recording has the addresses that the fetcher gave", "[service][recording]") {
  const test::TemporaryFolder folder;
  Snapshot snapshot = snapshot_with({});
  snapshot.engines.fetcher = std::make_shared<KeepingFetcher>();
  RecordOptions options;
  options.domain = "pages";
  options.output = folder.path("recording");
  std::filesystem::create_directories(options.output);
  const test::ManualClock clock;
  REQUIRE(record_lists(snapshot, {query_for_ada()}, options, clock).has_value());
  CHECK(*read_text(options.output + "/urls.tsv", 1000) == "kept\thttp://a.example/?utm_source=x\n");
}
