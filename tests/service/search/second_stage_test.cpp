#include "service/search/second_stage.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/text_file.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/base/metrics.h"
#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "service/learning/recording.h"
#include "service/search/answer_cache.h"
#include "service/search/like_top.h"
#include "service/search/reasons.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_plan.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// Two engines, and a reranker that puts the last of what it is sent first.
class RerankedSite {
 public:
  explicit RerankedSite(const std::string& rerank) {
    fetcher_ = std::make_shared<FakeFetcher>([this](const ExpandedQuery& query) { return answer(query); });
    folder_.write("t.yaml",
                  "version: 1\ndomain: pages\ndepth: 10\nslots: {Q: {required: true}}\n"
                  "templates: [{id: all, engine: [one, two], query: '{Q}'}]\n" +
                      rerank);
    folder_.write("metafuse.yaml", "version: 1\ntemplates: [t.yaml]\nmodels: models\n");
    folder_.write("models/.keep", "");
  }

  Result<std::shared_ptr<const Snapshot>> load() {
    TRY(const auto config, read_config(folder_.path("metafuse.yaml")));
    return load_snapshot(config, [this](const ServerConfig&) -> Result<LoadedEngines> {
      LoadedEngines engines{{"one", "two", "cross"}, fetcher_, {}, {}};
      engines.traits["cross"].is_reranker = true;
      engines.private_engines = private_engines;
      return engines;
    });
  }
  SearchAnswer search() {
    const auto snapshot = load();
    INFO((snapshot ? "" : snapshot.error().text));
    REQUIRE(snapshot.has_value());
    kept_ = *snapshot;
    SearchRequest request;
    request.text = "ada";
    return service::search(**snapshot, request, clock_).value();
  }
  std::string mistake() {
    const auto snapshot = load();
    return snapshot ? "" : snapshot.error().text;
  }

  /// The names of the engines whose lists a search with the key fuses; "" if it is refused.
  std::string engines_asked(const KeyConfig* key) {
    Exchange exchange;
    exchange.snapshot = load().value();
    exchange.key = key;
    SearchRequest request;
    request.text = "ada";
    const auto plan = plan_search(exchange, request, clock_);
    if (!plan) return "";
    std::set<std::string> names;
    for (const auto& list : search_prepared(plan->prepared, clock_, {}).lists)
      names.insert(list.query.engine);
    return fmt::format("{}", fmt::join(names, " "));
  }

  /// Whether POST /v1/rerank with the key asks the reranker.
  bool sends_documents(const KeyConfig* key) {
    Exchange exchange;
    exchange.snapshot = load().value();
    exchange.key = key;
    exchange.request.method = "POST";
    exchange.request.body = R"({"query":"ada","documents":["ada","charles"]})";
    Metrics metrics;
    Gate gate({exchange.snapshot->config, metrics, clock_, [] { return UnixTime{0}; }, {}});
    REQUIRE(handle_rerank(gate, exchange).has_value());
    return fetcher_->documents() != nullptr;
  }

  bool is_broken = false;
  std::map<std::string, std::vector<std::string>> private_engines;
  const Snapshot& snapshot() const { return *kept_; }
  FakeFetcher& fetcher() { return *fetcher_; }
  TemporaryFolder& folder() { return folder_; }
  const Clock& clock() const { return clock_; }

 private:
  fetchers::FetchedList answer(const ExpandedQuery& query) {
    if (query.engine == "one") return list_of({"a.example", "b.example", "d.example"});
    if (query.engine == "two") return list_of({"b.example", "c.example"});
    fetchers::FetchedList out;
    if (is_broken) {
      out.failure = fetchers::Failure::bad_answer;
      out.message = "the reranker's answer is no JSON";
      return out;
    }
    const auto documents = fetcher_->documents();
    out.list.hits.push_back(documents->back());
    out.list.hits.insert(out.list.hits.end(), documents->begin(), documents->end() - 1);
    return out;
  }

  TemporaryFolder folder_;
  const Clock& clock_ = machine_clock();
  std::shared_ptr<FakeFetcher> fetcher_;
  std::shared_ptr<const Snapshot> kept_;
};

std::string hosts_of(const SearchAnswer& answer) {
  std::string out;
  for (const FusedResult& result : answer.results) out += result.hit.key.substr(0, 1);
  return out;
}

const std::string kCross = "rerank: [{id: cross, engine: cross, top: 3}]\n";

}  // namespace

TEST_CASE("A reranker is sent the first results and its order is one more list", "[service][rerank]") {
  RerankedSite plain("");
  const std::string first_stage = hosts_of(plain.search());
  CHECK(first_stage == "bacd");
  RerankedSite site(kCross);
  const SearchAnswer answer = site.search();
  const auto documents = site.fetcher().documents();
  REQUIRE(documents != nullptr);
  REQUIRE(documents->size() == 3);
  CHECK(documents->at(0).key.starts_with("b"));
  CHECK(documents->at(1).title == "Title of a.example");
  CHECK(documents->at(2).snippet == "Snippet of c.example");
  REQUIRE(answer.features.size() == 3);
  CHECK(answer.features[2].name == "cross@cross");
  CHECK(answer.second_stage == 1);
  CHECK(hosts_of(answer) == "bcad");  // 1/61 + 1/62 + 1/62, 1/62 + 1/61, 1/61 + 1/63, 1/63
  for (const FusedResult& result : answer.results)
    for (const std::string_view engine : engines_of(answer, result)) CHECK(engine != "cross");
}

TEST_CASE("Without its reranker a search has the first stage's order and says what is missing",
          "[service][rerank]") {
  RerankedSite site(kCross);
  site.is_broken = true;
  const SearchAnswer answer = site.search();
  CHECK(hosts_of(answer) == "bacd");
  CHECK(failed_engines(answer) == "cross");
}

TEST_CASE("A model learns from a recording what a reranker is worth", "[service][rerank]") {
  RerankedSite site(kCross);
  site.search();
  JudgedBaseQuery query;
  query.id = "1";
  query.slots.slots["Q"] = "ada";
  RecordOptions options;
  options.domain = "pages";
  options.output = site.folder().path("recording");
  std::filesystem::create_directories(options.output);
  const auto report = record_lists(site.snapshot(), {query}, options, site.clock());
  INFO((report ? "" : report.error().text));
  REQUIRE(report.has_value());
  const auto run = read_text(options.output + "/runs/cross@cross.run", 10'000);
  REQUIRE(run.has_value());
  CHECK(run->find("1 Q0 c.example 1") != std::string::npos);
}

TEST_CASE("A reranked answer that another process shares has the same order", "[service][rerank]") {
  RerankedSite site(kCross);
  const SearchAnswer answer = site.search();
  SearchRequest request;
  request.text = "ada";
  const auto read = read_answer_text(answer_text(answer), *site.snapshot().find_domain(""), request, 1);
  REQUIRE(read.has_value());
  CHECK(hosts_of(*read) == hosts_of(answer));
  CHECK(read->second_stage == 1);
}

TEST_CASE("Further windows keep the rerankers' order of the first", "[service][rerank]") {
  RerankedSite site(kCross);
  site.fetcher().set_further([](const ExpandedQuery& query, int) {
    return query.engine == "one" ? list_of({"x.example"}) : list_of({"y.example"});
  });
  SearchAnswer first = site.search();
  for (fetchers::FetchedList& list : first.lists) list.requests = 4;
  SearchRequest request;
  request.text = "ada";
  const auto prepared =
      prepare_search(site.snapshot(), *site.snapshot().find_domain(""), request, site.clock());
  REQUIRE(prepared.has_value());
  const SearchAnswer further = search_further(*prepared, site.clock(), first);
  CHECK(further.second_stage == 1);
  CHECK(further.lists.size() == first.lists.size());
  CHECK(hosts_of(further).find('x') != std::string::npos);
  CHECK(further.lists.back().list.hits.size() == 3);
  for (const fetchers::FetchedList& list : further.lists) CHECK(list.requests == 0);  // counted before
}

TEST_CASE("A private reranker is asked only for keys with one of its tokens", "[service][rerank][security]") {
  KeyConfig plain, insider;
  plain.name = "plain";
  insider.name = "insider";
  insider.tokens = {"sesame"};
  RerankedSite site(kCross);
  site.private_engines = {{"cross", {"sesame"}}};
  CHECK(site.engines_asked(nullptr) == "one two");
  CHECK(site.engines_asked(&plain) == "one two");
  CHECK(site.engines_asked(&insider) == "cross one two");

  for (const KeyConfig* key : std::initializer_list<const KeyConfig*>{nullptr, &plain, &insider}) {
    RerankedSite documents(kCross);
    documents.private_engines = site.private_engines;
    CHECK(documents.sends_documents(key) == (key == &insider));
  }
}

TEST_CASE("A public reranker is asked beside an engine that is barred", "[service][rerank][security]") {
  KeyConfig insider;
  insider.tokens = {"sesame"};
  RerankedSite site(kCross);
  site.private_engines = {{"one", {"sesame"}}};
  CHECK(site.engines_asked(nullptr) == "cross two");
  CHECK(site.engines_asked(&insider) == "cross one two");
  site.private_engines = {{"one", {"sesame"}}, {"two", {"sesame"}}};
  CHECK(site.engines_asked(nullptr) == "");
}

TEST_CASE("What rerank names must be rerankers, and templates must not ask them", "[service][rerank]") {
  CHECK(RerankedSite("rerank: [{id: x, engine: one}]\n")
            .mistake()
            .find("no engine file defines one with the type rerank") != std::string::npos);
  CHECK(RerankedSite("rerank: best\n").mistake().find("rerank must be like-top") != std::string::npos);
  CHECK(RerankedSite("rerank: [like-top, like-top]\n").mistake().find("occurs twice") != std::string::npos);
  CHECK(RerankedSite("rerank: [{id: cross, engine: cross, top: 900}]\n").mistake().find("top") !=
        std::string::npos);
  RerankedSite asked("");
  asked.folder().write("t.yaml",
                       "version: 1\ndomain: pages\nslots: {Q: {required: true}}\n"
                       "templates: [{id: all, engine: cross, query: '{Q}'}]\n");
  CHECK(asked.mistake().find(": the engine cross is a reranker") != std::string::npos);
}

TEST_CASE("The likeness to the top is the cosine with the best results' words", "[service][rerank]") {
  std::vector<FusedResult> results(12);
  for (std::size_t i = 0; i < 10; ++i) results[i].hit.title = "Slow VPN gateway";
  results[10].hit.title = "bread and oven";
  results[11].hit.snippet = "the GATEWAY, slow: vpn";
  const auto likeness = likeness_to_top(results);
  REQUIRE(likeness.size() == 12);
  CHECK(likeness[0] == Approx(1.0));
  CHECK(likeness[10] == 0);
  CHECK(likeness[11] > 0.4);
  CHECK(likeness[11] < 1);
  CHECK(likeness_to_top({}).empty());
  // three of four words by hand: weights ln(1 + 12/11) for the common words, ln(1 + 12/1) for "the"
  const double common = std::log(1 + 12.0 / 11);
  const double own = std::log(1 + 12.0);
  CHECK(likeness[11] == Approx(std::sqrt(3) * common / std::sqrt(3 * common * common + own * own)));
  RerankedSite site("rerank: like-top\n");
  const SearchAnswer answer = site.search();
  CHECK(answer.features.back().name == "like-top");
  CHECK(answer.second_stage == 1);
  CHECK(failed_engines(answer).empty());
}
