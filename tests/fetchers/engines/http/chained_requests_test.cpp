// Definitions whose search takes several requests: first identifiers and then details, or pages by cursor.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/definition/engine_file.h"
#include "fetchers/recording/har_archive.h"
#include "tests/fetchers/calling/chaos_engines.h"
#include "tests/support/scripted_transport.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using metafuse::test::answer_of;
using metafuse::test::engines_of;
using metafuse::test::Script;
using metafuse::test::scripted_options;

namespace {

const std::string kDetails = R"(
  - name: library
    engine: json_engine
    search_url: "https://library.example/details?id={ids}"
    results_query: $/docs
    url_format: "https://library.example/book/{$/id}"
    title_query: $/title
    id_query: $/id
    steps:
      - search_url: "https://library.example/find?q={query}&n={count}&from={offset}"
        ids_query: $/found/*/number
)";

std::string mistake_in(const std::string& blocks) {
  const auto file = parse_engine_file("engines:\n" + blocks, "e.yaml");
  return file ? "" : file.error().text;
}

FetchedList fetched(const std::string& blocks, FetcherOptions options, int depth = 10, int page = 1) {
  const Clock& clock = machine_clock();
  auto engines = engines_of(blocks);
  const ExpandedQuery query{"t", engines.front().name, "red fox"};
  const auto fetcher = make_fetcher(std::move(engines), std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  return (*fetcher)
      ->fetch({&query, 1},
              {.depth = depth, .deadline = Deadline(clock, std::chrono::seconds(2)), .page = page}, {})
      .front();
}

HttpAnswer answer_library(const EngineRequest& request) {
  if (request.url.find("/find?") != std::string::npos)
    return answer_of(R"({"found":[{"number":7},{"number":"b/2"},{"number":9}]})");
  return answer_of(R"({"docs":[{"id":9,"title":"Nine"},{"id":7,"title":"Seven"},{"id":"b/2","title":"B"},
      {"id":1,"title":"Not asked for"}]})");
}

}  // namespace

TEST_CASE("Identifiers are found first and then their details are requested in order", "[fetchers][steps]") {
  Script script{answer_library, {}};
  const FetchedList list = fetched(kDetails, scripted_options(script), 10, 3);
  REQUIRE(script.requests.size() == 2);
  CHECK(script.requests[0].url == "https://library.example/find?q=red+fox&n=10&from=20");
  CHECK(script.requests[1].url == "https://library.example/details?id=7%2Cb%2F2%2C9");
  CHECK(script.requests[1].timeout <= script.requests[0].timeout);
  REQUIRE(list.list.hits.size() == 4);
  CHECK(list.list.hits[0].title == "Seven");
  CHECK(list.list.hits[1].title == "B");
  CHECK(list.list.hits[2].title == "Nine");
  CHECK(list.list.hits[3].title == "Not asked for");
}

TEST_CASE("No identifier means no result and a failed step is named", "[fetchers][steps]") {
  Script script{[](const EngineRequest&) { return answer_of(R"({"found":[]})"); }, {}};
  const FetchedList none = fetched(kDetails, scripted_options(script));
  CHECK(none.failure == Failure::none);
  CHECK(none.list.hits.empty());
  CHECK(script.requests.size() == 1);
  script.answer = [](const EngineRequest&) { return answer_of("out of order", 503); };
  const FetchedList failed = fetched(kDetails, scripted_options(script));
  CHECK(failed.failure == Failure::http_status);
  CHECK(failed.message.starts_with("step 1: HTTP 503"));
}

TEST_CASE("Details are requested in batches or with one request per identifier", "[fetchers][steps]") {
  const std::string step =
      "    steps:\n      - {search_url: \"https://l.example/find?q={query}\", ids_query: $/*, per_request: "
      "2}\n";
  Script script{[](const EngineRequest& request) {
                  return request.url.find("/find?") != std::string::npos
                             ? answer_of("[1, 2, 3]")
                             : answer_of(R"({"t":"T","u":"https://l.example)" +
                                         request.url.substr(request.url.find("/d/")) + "\"}");
                },
                {}};
  const std::string one_each =
      "  - name: e\n    engine: json_engine\n    search_url: \"https://l.example/d/{id}\"\n"
      "    results_query: \".\"\n    url_query: $/u\n    title_query: $/t\n" +
      step;
  const FetchedList each = fetched(one_each, scripted_options(script));
  CHECK(script.requests.size() == 4);
  REQUIRE(each.list.hits.size() == 3);
  CHECK(each.list.hits[2].url == "https://l.example/d/3");
  script.requests.clear();
  const std::string few = R"yaml(
  - name: e
    engine: json_engine
    search_url: "https://l.example/d/many"
    json_body: {ids: "{ids}", text: "id:({ids})"}
    results_query: "."
    url_query: $/u
    title_query: $/t
    steps:
      - {search_url: "https://l.example/find?q={query}", ids_query: $/*, per_request: 2, with: " OR ", quoted: true}
)yaml";
  fetched(few, scripted_options(script));
  REQUIRE(script.requests.size() == 3);
  CHECK(script.requests[1].body == R"j({"ids":["1","2"],"text":"id:(\"1\" OR \"2\")"})j");
  CHECK(script.requests[2].body == R"j({"ids":["3"],"text":"id:(\"3\")"})j");
}

TEST_CASE("All steps are recorded and replayed", "[fetchers][steps][recording]") {
  const test::TemporaryFolder folder;
  const std::string archive = folder.path("archive.har");
  Script script{[](const EngineRequest& request) {
                  HttpAnswer answer = answer_library(request);
                  answer.elapsed =
                      std::chrono::milliseconds(request.url.find("/find?") == std::string::npos ? 20 : 30);
                  return answer;
                },
                {}};
  {
    auto writer = HarWriter::open(archive);
    REQUIRE(writer.has_value());
    FetcherOptions options = scripted_options(script);
    options.wrap_transport = [&](std::unique_ptr<Transport>) {
      return make_recording_transport(std::make_unique<test::ScriptedTransport>(script), **writer);
    };
    CHECK(fetched(kDetails, options).list.hits.size() == 4);
    REQUIRE((*writer)->close().has_value());
  }
  FetcherOptions replay;
  replay.recording = FetcherOptions::Recording::replay;
  replay.recording_file = archive;
  const FetchedList list = fetched(kDetails, replay);
  CHECK(list.failure == Failure::none);
  REQUIRE(list.list.hits.size() == 4);
  CHECK(list.list.hits[0].title == "Seven");
  CHECK(list.elapsed == std::chrono::milliseconds(50));  // the duration of both steps when they were recorded
  CHECK(script.requests.size() == 2);
}

TEST_CASE("Pages follow the cursor of the previous answer", "[fetchers][paging]") {
  const std::string block = R"(
  - name: e
    engine: json_engine
    search_url: "https://c.example/s?q={query}"
    results_query: $/items
    url_query: $/u
    title_query: $/t
    results_per_page: 2
    next_page: {cursor_query: $/next, search_url: "https://c.example/s?q={query}&after={cursor}"}
)";
  Script script{[](const EngineRequest& request) {
                  const auto at = request.url.find("after=");
                  const int page = at == std::string::npos ? 1 : request.url[at + 9] - '0';
                  std::string items;
                  for (int i = 0; i < 2; ++i) {
                    const std::string n = std::to_string((page - 1) * 2 + i + 1);
                    items +=
                        (i == 0 ? "" : ",") + (R"({"u":"https://c.example/)" + n + R"(","t":")" + n + "\"}");
                  }
                  const std::string next = page < 4 ? R"("&)" + std::to_string(page + 1) + "\"" : "null";
                  return answer_of(R"({"items":[)" + items + R"(],"next":)" + next + "}");
                },
                {}};
  const FetchedList first = fetched(block, scripted_options(script), 3);
  CHECK(first.list.hits.size() == 3);
  REQUIRE(script.requests.size() == 2);
  CHECK(script.requests[1].url == "https://c.example/s?q=red+fox&after=%262");
  const FetchedList second = fetched(block, scripted_options(script), 3, 2);
  REQUIRE(second.list.hits.size() == 3);
  CHECK(second.list.hits[0].title == "4");
  script.requests.clear();
  const FetchedList all = fetched(block, scripted_options(script), 30);
  CHECK(all.list.hits.size() == 8);
  CHECK(script.requests.size() == 4);
}

TEST_CASE("Mistakes in a chain of requests are reported when the file is read", "[fetchers][steps]") {
  const std::string own = "  - {name: e, engine: json_engine, url_query: u, title_query: t, ";
  const auto says = [&](const std::string& keys, const std::string& what) {
    const std::string text = mistake_in(own + keys + "}\n");
    INFO(text);
    return text.find(what) != std::string::npos;
  };
  CHECK(says("search_url: \"https://a/{ids}\"", "{ids} and {id} need `steps`"));
  CHECK(says("search_url: \"https://a/?q={query}&c={cursor}\"", "{cursor} is allowed only in next_page"));
  CHECK(says("search_url: \"https://a/?q={query}\", next_page: {cursor_query: n}",
             "next_page must contain {cursor}"));
  CHECK(says("search_url: \"https://a/x\", steps: [{search_url: \"https://a/?q={query}\", ids_query: i}]",
             "the engine's own request must contain {ids}"));
  CHECK(says("search_url: \"https://a/{ids}\", steps: [{search_url: \"https://b/?q={query}\", ids_query: i}]",
             "go to the same host, https://a"));
  CHECK(says("search_url: \"https://a/{ids}\", steps: [{search_url: \"https://a/?q=1\", ids_query: i}]",
             "step 1 must contain {query}"));
  CHECK(says("search_url: \"https://a/{ids}\", steps: [{search_url: \"https://a/?q={query}\"}]",
             "lacks the key \"ids_query\""));
}
