// `engine: mongodb` with a test server that speaks MongoDB's wire protocol: what is sent, and how documents,
// errors and delays are handled.

#include <catch2/catch.hpp>

#include "core/json.h"
#include "fetchers/databases/mongo_pipeline.h"
#include "fetchers/make_fetcher.h"
#include "tests/support/mongo_server.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

Json pipeline_of(const std::string& text) {
  auto json = parse_json(text, "pipeline");
  if (!json) FAIL(json.error().text);
  return *json;
}

std::string filled_text(const std::string& pipeline, const std::string& query) {
  return to_text(filled_pipeline(pipeline_of(pipeline), {query, "[0.5,-1]", 10, 20}));
}

Result<std::vector<Engine>> mongo_engines(const std::string& keys, const std::string& top = "") {
  TRY(auto file, parse_engine_file(top +
                                       "engines:\n  - {engine: mongodb, name: m, database: docs, collection: "
                                       "pages, " +
                                       keys + "}\n",
                                   "m.yaml"));
  return std::move(file.engines);
}

std::shared_ptr<Fetcher> mongo_fetcher(const MongoServer& server, const std::string& keys) {
  auto engines = mongo_engines("connection: 'mongodb://127.0.0.1:" + std::to_string(server.port()) +
                               "', timeout: 0.8" + (keys.empty() ? "" : ", ") + keys);
  if (!engines) FAIL(engines.error().text);
  auto fetcher = make_fetcher(std::move(*engines));
  if (!fetcher) FAIL(fetcher.error().text);
  return *fetcher;
}

FetchedList search_mongo(Fetcher& fetcher, const std::string& text, int depth = 10, int page = 1) {
  static const SteadyClock clock;
  const ExpandedQuery query{"t", "m", text};
  return fetcher
      .fetch({&query, 1},
             {.depth = depth, .deadline = Deadline(clock, std::chrono::seconds(10)), .page = page}, {})
      .front();
}

/// Three documents, limited by the pipeline's own $skip and $limit.
MongoServer::Answer three_pages(const JsonObject& command) {
  MongoServer::Answer answer{{
      R"({"_id":{"$oid":"5f1d7f0a0000000000000001"},"url":"http://a/","title":"A","content":"<b>first</b>",)"
      R"("published":{"$date":"2024-05-01T00:00:00Z"},"score":2.5,"author":{"name":"Ann"},"tags":["x","y"]})",
      R"({"_id":2,"url":"http://b/","title":"B","link":"http://other/b","author":{"name":"Bob"}})",
      R"({"_id":"three","url":"http://c/","title":"C"})",
  }};
  std::size_t skip = 0, limit = 100;
  for (const Json& stage : command.at("pipeline").as_array()) {
    if (const auto* number = stage.as_object().if_contains("$skip"))
      skip = static_cast<std::size_t>(number->as_int64());
    if (const auto* number = stage.as_object().if_contains("$limit"))
      limit = static_cast<std::size_t>(number->as_int64());
  }
  auto& all = answer.documents;
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(skip, all.size())));
  all.resize(std::min(limit, all.size()));
  return answer;
}

std::vector<std::string> mongo_urls(const FetchedList& list) {
  INFO(list.message);
  CHECK(list.failure == Failure::none);
  std::vector<std::string> urls;
  for (const Hit& hit : list.list.hits) urls.push_back(hit.url);
  return urls;
}

using MongoUrls = std::vector<std::string>;

}  // namespace

TEST_CASE("Values are inserted into a pipeline as values", "[fetchers][databases][mongodb]") {
  CHECK(filled_text(R"([{"$match":{"title":"{query}"}},{"$skip":"{offset}"},{"$limit":"{limit}"}])",
                    "a\"b") == R"([{"$match":{"title":"a\"b"}},{"$skip":20},{"$limit":10}])");
  CHECK(filled_text(R"([{"$match":{"t":{"$regex":"^{query}"}}}])", "a.*(b") ==
        R"([{"$match":{"t":{"$regex":"^a\\.\\*\\(b"}}}])");
  CHECK(filled_text(R"([{"$vectorSearch":{"queryVector":"{vector}","limit":"{end}"}}])", "x") ==
        R"([{"$vectorSearch":{"queryVector":[0.5,-1],"limit":30}}])");
  // Outside a match, a text that begins with $ would be read as a field name.
  CHECK(filled_text(R"([{"$addFields":{"said":"{query}"}}])", "$password") ==
        R"([{"$addFields":{"said":{"$literal":"$password"}}}])");
  CHECK(filled_text(R"([{"$match":{"$expr":{"$eq":["$title","{query}"]}}}])", "$secret") ==
        R"([{"$match":{"$expr":{"$eq":["$title",{"$literal":"$secret"}]}}}])");
  CHECK(filled_text(R"([{"$lookup":{"pipeline":[{"$match":{"t":"{query}"}}]}}])", "$x") ==
        R"([{"$lookup":{"pipeline":[{"$match":{"t":"$x"}}]}}])");
  // A query that looks like a placeholder is not one.
  CHECK(filled_text(R"([{"$match":{"title":"{query} {query}"}}])", "{query}{limit}") ==
        R"([{"$match":{"title":"{query}{limit} {query}{limit}"}}])");
}

TEST_CASE("A pipeline that writes or runs code or lacks the query is refused",
          "[fetchers][databases][mongodb]") {
  const auto mistake = [](const std::string& keys) {
    const auto engines = mongo_engines(keys);
    return engines ? std::string("none") : engines.error().text;
  };
  CHECK(mistake("search: text") == "none");
  CHECK(mistake("pipeline: [{$match: {t: '{query}'}}, {$limit: '{limit}'}]") == "none");
  CHECK(mistake("pipeline: [{$match: {t: '{query}'}}, {$out: copy}]").find("$out writes") !=
        std::string::npos);
  CHECK(mistake("pipeline: [{$facet: {a: [{$match: {$where: '{query}'}}]}}]").find("$where writes") !=
        std::string::npos);
  CHECK(mistake("pipeline: [{$match: {a: 1}}]").find("must contain \"{query}\"") != std::string::npos);
  CHECK(mistake("pipeline: {$match: {a: '{query}'}}").find("list of stages") != std::string::npos);
  CHECK(mistake("search: fuzzy").find("text, field, vector, atlas") != std::string::npos);
  CHECK(mistake("search: text, pipeline: [{$match: {t: '{query}'}}]").find("keep one") != std::string::npos);
  CHECK(mistake("search: vector").find("embedding") != std::string::npos);
  CHECK(mistake("search: field").find("key") != std::string::npos);
  CHECK(mistake("search: text, filter: [1]").find("filter must be a map") != std::string::npos);
  // As in SearXNG's settings.
  CHECK(mistake(
            "host: 127.0.0.1, port: 27017, username: '', password: '', key: title, exact_match_only: false, "
            "results_per_page: 20, url_format: 'https://h/{_id}'") == "none");
}

TEST_CASE("Documents become results by their fields and pages use one connection",
          "[fetchers][databases][mongodb]") {
  const MongoServer server(three_pages);
  const auto fetcher = mongo_fetcher(server, "filter: {public: true}, language: english");
  const FetchedList all = search_mongo(*fetcher, "doors \"open\"");
  REQUIRE(mongo_urls(all) == MongoUrls{"http://a/", "http://b/", "http://c/"});
  CHECK(all.list.hits[0].title == "A");
  CHECK(all.list.hits[0].score == 2.5);
  CHECK(all.list.hits[0].published.starts_with("2024-05-01"));
  const JsonObject command = server.last_command();
  CHECK(command.at("aggregate").as_string() == "pages");
  CHECK(command.at("$db").as_string() == "docs");
  CHECK(command.at("maxTimeMS").as_int64() == 800);
  CHECK(to_text(command.at("pipeline").as_array()[0]) ==
        R"({"$match":{"public":true,"$text":{"$search":"doors \"open\"","$language":"english"}}})");
  CHECK(mongo_urls(search_mongo(*fetcher, "doors", 2, 2)) == MongoUrls{"http://c/"});
  CHECK(server.connections() == 1);

  const auto own = mongo_fetcher(server,
                                 "columns: {url: link, title: author.name, content: tags}, "
                                 "pipeline: [{$match: {t: '{query}'}}]");
  const FetchedList renamed = search_mongo(*own, "x");
  CHECK(mongo_urls(renamed) == MongoUrls{"http://other/b"});
  CHECK(renamed.list.hits[0].title == "Bob");
  CHECK(mongo_urls(search_mongo(*mongo_fetcher(server, "pipeline: [{$match: {t: '{query}'}}]"), "x", 1, 2)) ==
        MongoUrls{"http://b/"});

  const auto formed =
      mongo_fetcher(server, "key: title, exact_match_only: false, url_format: 'http://h/{_id}'");
  CHECK(mongo_urls(search_mongo(*formed, "a+b")) ==
        MongoUrls{"http://h/5f1d7f0a0000000000000001", "http://h/2", "http://h/three"});
  const Json match = server.last_command().at("pipeline").as_array()[0];
  CHECK(to_text(match).find(R"(a\\+b)") != std::string::npos);
}

TEST_CASE("Hostile queries reach MongoDB as plain texts", "[fetchers][databases][mongodb][security]") {
  const MongoServer server(three_pages);
  const auto fetcher = mongo_fetcher(server, "key: title");
  for (const std::string text :
       {"$where", "{\"$gt\":\"\"}", "'; db.dropDatabase(); '", "{query}", "$password", "\\",
        "\xF0\x9F\x94\x8D", "{\"$oid\":\"5f1d7f0a0000000000000001\"}"}) {
    INFO(text);
    CHECK(mongo_urls(search_mongo(*fetcher, text)).size() == 3);
    CHECK(server.last_command().at("pipeline").as_array()[0].at("$match").at("title").as_string() == text);
  }
  CHECK(search_mongo(*fetcher, std::string("a\0b", 3)).has_failed());
}

TEST_CASE("A MongoDB that refuses or is late or away gives a named failure",
          "[fetchers][databases][mongodb]") {
  MongoServer::Answer next;
  auto server = std::make_unique<MongoServer>([&](const JsonObject&) { return next; });
  const auto fetcher = mongo_fetcher(*server, "");
  next.error_code = 27;
  next.error = "text index required";
  const FetchedList refused = search_mongo(*fetcher, "x");
  CHECK(refused.failure == Failure::bad_answer);
  CHECK(refused.message == "MongoDB: text index required");
  next.error_code = 50;
  CHECK(search_mongo(*fetcher, "x").failure == Failure::timeout);
  next.error_code = 13;
  CHECK(search_mongo(*fetcher, "x").failure == Failure::refused);
  next = {.hangs = true};
  const FetchedList late = search_mongo(*fetcher, "x");
  INFO(late.message);
  CHECK((late.failure == Failure::timeout || late.failure == Failure::refused));
  next = {};
  CHECK(mongo_urls(search_mongo(*fetcher, "x")).empty());  // over a new connection
  server.reset();
  CHECK(search_mongo(*fetcher, "x").failure == Failure::refused);
}

TEST_CASE("Atlas is searched by the query's vector or by its search index",
          "[fetchers][databases][mongodb]") {
  const auto engines = mongo_engines("search: vector, index: near, vector_field: v, filter: {year: 2024}",
                                     "embedding: {base_url: 'http://127.0.0.1:9', model: m}\n");
  if (!engines) FAIL(engines.error().text);
  CHECK(needs_vector(engines->front()));
  const auto& access = std::get<DatabaseAccess>(engines->front().access);
  CHECK(
      filled_text(access.statement, "x") ==
      R"([{"$vectorSearch":{"index":"near","path":"v","queryVector":[0.5,-1],"numCandidates":300,"limit":30,)"
      R"("filter":{"year":2024}}},{"$addFields":{"score":{"$meta":"vectorSearchScore"}}},{"$skip":20},)"
      R"({"$limit":10},{"$unset":"v"}])");
  const auto words = mongo_engines("search: atlas, search_fields: [title, body]");
  REQUIRE(words.has_value());
  CHECK_FALSE(needs_vector(words->front()));
  CHECK(filled_text(std::get<DatabaseAccess>(words->front().access).statement, "$a") ==
        R"([{"$search":{"index":"default","text":{"query":"$a","path":["title","body"]}}},)"
        R"({"$addFields":{"score":{"$meta":"searchScore"}}},{"$skip":20},{"$limit":10}])");
}
