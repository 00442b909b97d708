#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/test_server.h"
#include "tests/support/test_site.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kJson = "application/json";

Json json_of(const std::string& response) {
  INFO(response);
  return *parse_json(body_in(response), "answer");
}

/// A body with a list of so many texts.
std::string body_with(const std::string& member, std::size_t count, const std::string& more) {
  std::string items;
  for (std::size_t i = 0; i < count; ++i) items += (i > 0 ? ",\"" : "\"") + std::to_string(i) + " text\"";
  return "{" + more + "\"" + member + "\":[" + items + "]}";
}

std::string keyed_config() {
  return "needs_key: true\nkeys: [{name: k, roles: [search], sha256: " + sha256_hex("right") + "}]\n";
}

}  // namespace

TEST_CASE("Open WebUI's external search gets a bare list of links", "[service][dialects]") {
  TestServer server;
  const Json found = json_of(
      server.post("/openwebui/search", kJson, R"({"query":"ada","count":2})", "Authorization: Bearer x\r\n"));
  REQUIRE(found.is_array());
  REQUIRE(found.as_array().size() == 2);
  CHECK(found.at(0).at("link").as_string().starts_with("http://"));
  CHECK(found.at(0).at("title").as_string().starts_with("Title of"));
  CHECK(found.at(0).at("snippet").as_string().starts_with("Snippet of"));
  const std::string wrong = server.post("/openwebui/search", kJson, R"({"count":2})");
  CHECK(status_in(wrong) == 400);
  CHECK(json_of(wrong).at("detail") == "query is missing");
}

TEST_CASE("Open WebUI's loader gets the text of each page, in order, and why there is none",
          "[service][dialects]") {
  TestSite site;
  site.put("/page", "<title>Nano</title><h1>The editor</h1><p>Small and friendly, with a help line.</p>");
  TestServer server(TestServer::default_answer,
                    "fetch_pages: {allow_private: [\"" + site.origin() + "\"]}\n");
  const Json read =
      json_of(server.post("/openwebui/extract", kJson,
                          R"({"urls":[")" + site.url("/none") + R"(",")" + site.url("/page") + R"("]})"));
  REQUIRE(read.as_array().size() == 2);
  CHECK(read.at(0).at("page_content") == "");
  CHECK(read.at(0).at("metadata").at("error").as_string().find("404") != std::string::npos);
  CHECK(read.at(1).at("page_content").as_string().find("help line") != std::string::npos);
  CHECK(read.at(1).at("metadata").at("source") == Json(site.url("/page")));
  const std::string wrong = server.post("/openwebui/extract", kJson, body_with("urls", 21, ""));
  CHECK(status_in(wrong) == 400);
  CHECK(json_of(wrong).as_object().contains("detail"));
}

TEST_CASE("A URL or a query in a list may be as long as alone", "[service][dialects]") {
  TestServer server;
  const auto ask = [&](const std::string& path, const std::string& name, const Json& value) {
    return server.post(path, kJson, to_text(JsonObject{{name, value}}));
  };
  const std::string url = "http://10.0.0.1/" + std::string(8192 - 16, 'x');
  for (const std::string path : {"/openwebui/extract", "/extract"}) {
    INFO(path);
    CHECK(status_in(ask(path, "urls", JsonArray{url, "http://10.0.0.1/"})) == 200);
    const std::string refused = ask(path, "urls", JsonArray{url + "x", "http://10.0.0.1/"});
    CHECK(status_in(refused) == 400);
    CHECK(refused.find("at most 20 strings of at most 8192 bytes") != std::string::npos);
  }
  const std::string query(4096, 'q');
  CHECK(status_in(ask("/openwebui/search", "query", Json(query))) == 200);
  CHECK(status_in(ask("/openwebui/search", "query", JsonArray{query, "ada"})) == 200);
  CHECK(ask("/openwebui/search", "query", JsonArray{query + "q"}).find("at most 4096 bytes") !=
        std::string::npos);
}

TEST_CASE("A domain is a knowledge base for Dify", "[service][dialects]") {
  TestServer server([](const ExpandedQuery& query) {
    auto list = TestServer::default_answer(query);
    list.list.hits[0].published = "2020-05-01";
    return list;
  });
  const auto ask = [&](const std::string& more, int status = 200) {
    const std::string response =
        server.post("/retrieval", kJson, R"({"knowledge_id":"pages","query":"ada",)" + more + "}");
    INFO(more << response);
    CHECK(status_in(response) == status);
    return json_of(response);
  };
  const Json all = ask(R"("retrieval_setting":{"top_k":3,"score_threshold":0.0})");
  REQUIRE(all.at("records").as_array().size() == 3);
  double before = 1;
  for (const Json& record : all.at("records").as_array()) {
    CHECK(record.at("metadata").is_object());
    CHECK(record.at("content").as_string().starts_with("Snippet of"));
    CHECK(record.at("score").to_number<double>() <= before);
    before = record.at("score").to_number<double>();
  }
  const Json best = ask(R"("retrieval_setting":{"top_k":9,"score_threshold":0.9})");
  CHECK(best.at("records").as_array().size() == 1);
  const auto with = [&](const std::string& condition) {
    const Json answer =
        ask(R"("retrieval_setting":{"top_k":9,"score_threshold":0},"metadata_condition":{"conditions":[)" +
            condition + "]}");
    return JsonArray(answer.at("records").as_array());
  };
  REQUIRE(with(R"({"name":"url","comparison_operator":"contains","value":"D.example"})").size() == 1);
  CHECK(
      with(R"({"name":["url"],"comparison_operator":"in","value":["http://a.example/","http://c.example/"]})")
          .size() == 2);
  const JsonArray titled = with(R"({"name":"title","comparison_operator":"not empty"})");
  CHECK(titled.size() >= 3);
  CHECK(with(R"({"name":["category","title"],"comparison_operator":"not empty"})") == titled);
  CHECK(with(R"({"name":"published","comparison_operator":"empty"})").size() == 2);
  CHECK(with(R"({"name":"published","comparison_operator":"after","value":"2021"})").empty());
  CHECK(
      ask(R"("metadata_condition":{"conditions":[{"name":"url","comparison_operator":">","value":3}]})", 400)
          .at("error_code") == 400);
  CHECK(ask(R"("retrieval_setting":{"top_k":0,"score_threshold":0})", 400).at("error_msg").is_string());
  const Json nameless =
      ask(R"("metadata_condition":{"conditions":[{"name":"author","comparison_operator":"is","value":"x"}]})",
          400);
  CHECK(to_text(nameless).find("there are url, title, published, language, engines") != std::string::npos);
  const std::string unknown = server.post("/retrieval", kJson, R"({"knowledge_id":"none","query":"ada"})");
  CHECK(status_in(unknown) == 404);
  CHECK(json_of(unknown).at("error_code") == 2001);
}

TEST_CASE("Perplexity's clients search with several queries, sites and dates", "[service][dialects]") {
  TestServer server([](const ExpandedQuery& query) {
    auto list = query.text == "ada" ? list_of({"a.example", "www.b.example"}) : list_of({"c.example"});
    list.list.hits[0].published = "2026-03-04T05:06:07Z";
    return list;
  });
  const auto urls = [&](const std::string& body) {
    std::string out;
    const Json answer = json_of(server.post("/perplexity/search", kJson, body));
    for (const Json& item : answer.at("results").as_array())
      out += std::string(item.at("url").as_string()) + ' ';
    return out;
  };
  const Json found = json_of(server.post("/perplexity/search", kJson, R"({"query":"ada","max_results":1})"));
  REQUIRE(found.at("results").as_array().size() == 1);
  CHECK(found.at("results").at(0).at("date") == "2026-03-04");
  CHECK(found.at("results").at(0).at("snippet") == "Snippet of a.example");
  CHECK(urls(R"({"query":["ada","lovelace"]})").find("c.example") != std::string::npos);
  CHECK(urls(R"({"query":"ada","search_domain_filter":["b.example"]})") == "http://www.b.example/ ");
  CHECK(urls(R"({"query":"ada","search_domain_filter":["-b.example"]})") == "http://a.example/ ");
  CHECK(urls(R"({"query":"ada","search_after_date_filter":"3/5/2026"})").empty());
  CHECK(urls(R"({"query":"ada","search_after_date_filter":"03/04/2026"})") == "http://a.example/ ");
  for (const std::string wrong : {R"({})", R"({"query":"ada","max_results":21})",
                                  R"({"query":"ada","search_after_date_filter":"soon"})",
                                  R"({"query":"ada","search_recency_filter":"century"})"}) {
    const std::string response = server.post("/perplexity/search", kJson, wrong);
    CHECK(status_in(response) == 400);
    CHECK(json_of(response).at("error").at("message").is_string());
  }
}

TEST_CASE("Several queries of one call are fused as variants", "[service][dialects]") {
  TestServer server([](const ExpandedQuery& query) {
    return query.text == "ada" ? list_of({"a.example"}) : list_of({"c.example", "d.example"});
  });
  const std::string two = R"("query":"ada","queries":["lovelace","ada","lovelace"])";
  const Json tavily = json_of(server.post("/search", kJson, "{" + two + "}"));
  CHECK(tavily.at("query") == "ada");
  CHECK(tavily.at("results").as_array().size() == 3);
  const Json tool = json_of(server.post(
      "/mcp", kJson,
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_pages","arguments":{)" + two +
          "}}}"));
  CHECK(tool.at("result").at("content").at(0).at("text").as_string().find("d.example") != std::string::npos);
  // an answer to one query is not that of more
  CHECK(json_of(server.post("/search", kJson, R"({"query":"ada"})")).at("results").as_array().size() == 1);
}

TEST_CASE("Documents are ordered by what they share with the query, in Jina's and Cohere's shapes",
          "[service][dialects][rerank]") {
  TestServer server;
  const std::string documents =
      R"("documents":["Bread is baked in an oven.","The gateways of the VPN are slow today.",)"
      R"({"text":"A slow VPN: choose another gateway."},"Nothing of it"])";
  for (const std::string path : {"/v1/rerank", "/v2/rerank", "/rerank"}) {
    const Json ordered = json_of(server.post(
        path, kJson,
        R"({"model":"any","query":"slow vpn gateway","return_documents":true,)" + documents + "}"));
    const JsonArray& results = ordered.at("results").as_array();
    REQUIRE(results.size() == 4);  // each document once, also those that share nothing with the query
    CHECK(results[0].at("index") == 2);
    CHECK(results[1].at("index") == 1);
    CHECK(results[0].at("relevance_score").to_number<double>() == 1);
    CHECK(results[3].at("relevance_score").to_number<double>() == 0);
    CHECK(results[1].at("document").at("text") == "The gateways of the VPN are slow today.");
    CHECK(ordered.at("model") == "rrf");
  }
  const Json one =
      json_of(server.post("/v1/rerank", kJson, R"({"query":"slow","top_n":1,)" + documents + "}"));
  CHECK(one.at("results").as_array().size() == 1);
  CHECK_FALSE(one.at("results").at(0).as_object().contains("document"));
  const Json tei = json_of(
      server.post("/rerank", kJson, R"({"query":"vpn","texts":["bread","a vpn"],"return_text":true})"));
  REQUIRE(tei.as_array().size() == 2);
  CHECK(tei.at(0).at("index") == 1);
  CHECK(tei.at(0).at("text") == "a vpn");
  const Json fields = json_of(server.post(
      "/v1/rerank", kJson,
      R"({"query":"vpn","rank_fields":["title"],"documents":[{"title":"bread"},{"title":"vpn","n":1}]})"));
  CHECK(fields.at("results").at(0).at("index") == 1);
  CHECK(json_of(server.post("/v1/rerank", kJson, R"({"query":"vpn","documents":[]})")).at("results") ==
        JsonArray());
  const Json blank =
      json_of(server.post("/v1/rerank", kJson, R"({"query":"vpn","documents":["","a vpn",{"text":""}]})"));
  CHECK(blank.at("results").as_array().size() == 3);
  CHECK(blank.at("results").at(0).at("index") == 1);
}

namespace {

const std::string kListsOfDocuments = "version: 1\ndomain: ranked\nlists: [words, parts]\n";

/// Looks only at the first place of `parts`.
const std::string kModelOfParts =
    R"({"format":"metafuse-model","version":1,"learner":"rankboost","features":[{"name":"words","kind":"rank",)"
    R"("depth":30},{"name":"parts","kind":"rank","depth":30}],"unranked":"absent","body":{"weak_rankings":)"
    R"([{"feature":1,"rank":1,"q_default":0,"alpha":1}]},"training":{}})";

}  // namespace

TEST_CASE("The model of a domain with the lists words and parts orders documents",
          "[service][dialects][rerank]") {
  TestServer server;
  server.folder().write("templates/ranked.yaml", kListsOfDocuments);
  server.folder().write("models/ranked.json", kModelOfParts);
  const auto reloaded = server.app().reloader().reload();
  INFO((reloaded ? "" : reloaded.error().text));
  REQUIRE(reloaded.has_value());
  const auto ask = [&](const std::string& model) {
    return json_of(
        server.post("/v1/rerank", kJson,
                    R"({"model":")" + model +
                        R"(","query":"gateway","documents":["gateway and many other words of one text",)"
                        R"("gateways","bread"]})"));
  };
  const Json ordered = ask("ranked");
  CHECK(ordered.at("model") == "ranked");
  CHECK(ordered.at("results").at(0).at("index") == 1);  // shares most of its parts
  CHECK(ordered.at("results").at(1).at("relevance_score").to_number<double>() == 0);
  CHECK(ask("other").at("model") == "rrf");
}

TEST_CASE("Each dialect tells what is wrong in its own shape", "[service][dialects]") {
  TestServer open;
  const std::string queries = body_with("queries", 65, R"("query":"ada",)");
  CHECK(json_of(open.post("/search", kJson, queries)).at("detail").at("error").is_string());
  CHECK(json_of(open.post("/openwebui/search", kJson, queries)).at("detail").is_string());
  CHECK(json_of(open.post("/perplexity/search", kJson, body_with("query", 65, ""))).at("error").at("type") ==
        "invalid_request_error");
  const Json tool = json_of(open.post("/mcp", kJson,
                                      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                                      R"({"name":"search_pages","arguments":)" +
                                          queries + "}}"));
  CHECK(tool.at("result").at("isError").as_bool());
  const std::string many = open.post("/v1/rerank", kJson, body_with("documents", 1001, R"("query":"ada",)"));
  CHECK(status_in(many) == 400);
  CHECK(json_of(many).at("message").as_string().starts_with("1001 documents"));
  CHECK(json_of(many).at("detail") == json_of(many).at("message"));
  for (const std::string wrong :
       {R"({"documents":["a"]})", R"({"query":"a"})", R"({"query":"a","documents":[7]})",
        R"({"query":"a","documents":"b"})", R"({"query":"a","documents":[{"title":"b"}]})", "<html>", "[]"})
    CHECK(status_in(open.post("/v1/rerank", kJson, wrong)) == 400);

  TestServer closed(TestServer::default_answer, keyed_config());
  const auto refused = [&](const std::string& path) {
    const std::string response = closed.post(path, kJson, R"({"query":"ada"})");
    INFO(response);
    CHECK(status_in(response) == 401);
    return json_of(response);
  };
  CHECK(refused("/openwebui/search").at("detail").is_string());
  CHECK(refused("/openwebui/extract").at("detail").is_string());
  CHECK(refused("/retrieval").at("error_code") == 1002);
  CHECK(refused("/perplexity/search").at("error").at("type") == "authentication_error");
  CHECK(refused("/v1/rerank").at("message").is_string());
  CHECK(status_in(closed.post("/retrieval", kJson, R"({"query":"ada"})",
                              "Authorization: Bearer right\r\n")) == 200);
}

TEST_CASE("A request that is not read whole is refused in the shape of its path, with CORS",
          "[service][dialects][http]") {
  TestServer server(TestServer::default_answer,
                    "limits: {max_body_bytes: 1024}\ncors_origins: ['https://app.example']\n");
  const std::string origin = "Origin: https://app.example\r\n";
  const auto refused = [&](int status, const std::string& response) {
    INFO(response);
    CHECK(status_in(response) == status);
    CHECK(response.find("Access-Control-Allow-Origin: https://app.example\r\n") != std::string::npos);
    CHECK(response.find("X-Content-Type-Options: nosniff\r\n") != std::string::npos);
    return response;
  };
  const auto too_long = [&](const std::string& path) {
    return json_of(refused(413, server.post(path, kJson, std::string(1025, ' '), origin)));
  };
  const Json text = "the body is longer than 1024 bytes";
  CHECK(too_long("/search").at("detail").at("error") == text);
  CHECK(too_long("/extract").at("detail").at("error") == text);
  CHECK(too_long("/mcp").at("error").at("message") == text);
  CHECK(too_long("/retrieval").at("error_msg") == text);
  CHECK(too_long("/openwebui/search").at("detail") == text);
  CHECK(too_long("/perplexity/search").at("error").at("message") == text);
  CHECK(too_long("/rerank").at("error") == text);
  CHECK(too_long("/v1/rerank").at("message") == text);
  CHECK(too_long("/v1/search").at("status") == 413);
  const auto bad = [&](const std::string& target) {
    return json_of(refused(400, server.get(target, origin)));
  };
  CHECK(bad("/search?format=json&q=%ff").at("error").is_string());
  CHECK(bad("/search?q=%ff&format=json").at("error").is_string());
  CHECK(bad("/v1/templates/%ff").at("detail") == "the path has malformed percent-encoding or is not UTF-8");
  std::string many = "/search?format=json";
  for (int i = 0; i < 500; ++i) many += "&a=b";
  CHECK(bad(many).at("error") == "the query has more than 200 parameters");
  const std::string page = server.get("/search?q=%ff", "Accept: text/html\r\n");
  CHECK(status_in(page) == 400);
  CHECK(body_in(page).starts_with("<!doctype html>"));
  CHECK(server.get("/search?format=json&q=%ff", "Origin: https://evil.example\r\n")
            .find("Access-Control-Allow-Origin") == std::string::npos);
}

TEST_CASE("A language is a tag or any", "[service][dialects]") {
  TestServer server;
  for (const auto& [language, status] : {std::pair{"de", 200},
                                         {"pt-BR", 200},
                                         {"all", 200},
                                         {"auto", 200},
                                         {"Auto", 200},
                                         {"ALL", 200},
                                         {"../x", 400},
                                         {"zz zz", 400},
                                         {"de,../x", 400},
                                         {"en;q=0.8", 400}}) {
    INFO(language);
    CHECK(status_in(server.post("/v1/search", kJson,
                                std::string(R"({"query":"ada","language":")") + language + "\"}")) == status);
  }
  CHECK(server.get("/search?q=ada&format=json&language=../x").find("no language tag") != std::string::npos);
}

TEST_CASE("A query and another value of the slot that it fills are not both taken", "[service][dialects]") {
  TestServer server;
  const auto asked = [&](const std::string& slots) {
    return status_in(server.post("/v1/search", kJson, R"({"query":"ada","slots":{)" + slots + "}}"));
  };
  CHECK(asked(R"("PLACE":"London")") == 200);
  CHECK(asked(R"("NAME":"grace")") == 400);
  CHECK(asked(R"("NAME":"ada")") == 200);
  CHECK(status_in(server.get("/search?q=ada&slot.NAME=grace&format=json")) == 400);
}

TEST_CASE("Connectors get exactly search and fetch, each with one string", "[service][mcp][dialects]") {
  TestSite site;
  site.put("/page", "<title>Nano</title><h1>The editor</h1><p>Small and friendly, with a help line.</p>");
  TestServer server(
      [](const ExpandedQuery& query) {
        auto list = TestServer::default_answer(query);
        list.list.hits[0].title.clear();
        return list;
      },
      "fetch_pages: {allow_private: [\"" + site.origin() + "\"]}\n");
  const auto call = [&](const std::string& params) {
    return Json(
        json_of(server.post("/mcp", kJson,
                            R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{)" + params + "}}"))
            .at("result"));
  };
  const Json tools = json_of(server.post("/mcp", kJson, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"));
  std::string names;
  for (const Json& tool : tools.at("result").at("tools").as_array()) {
    const std::string name(tool.at("name").as_string());
    if (name != "search" && name != "fetch") continue;
    names += name + ' ';
    CHECK(tool.at("inputSchema").at("required").as_array().size() == 1);
  }
  CHECK(names == "search fetch ");
  const Json found = call(R"("name":"search","arguments":{"query":"ada"})");
  REQUIRE(found.at("content").as_array().size() == 1);
  const Json results = *parse_json(found.at("content").at(0).at("text").as_string(), "text");
  for (const Json& item : results.at("results").as_array()) {
    CHECK(item.as_object().size() == 3);
    CHECK(item.at("id") == item.at("url"));
    CHECK_FALSE(item.at("title").as_string().empty());
  }
  const Json page = call(R"("name":"fetch","arguments":{"id":")" + site.url("/page") + R"("})");
  const Json read = *parse_json(page.at("content").at(0).at("text").as_string(), "text");
  CHECK(read.at("title") == "Nano");
  CHECK(read.at("text").as_string().find("help line") != std::string::npos);
  CHECK(read.at("metadata").is_object());
  CHECK(call(R"("name":"fetch","arguments":{"id":"http://10.0.0.1/"})").at("isError").as_bool());
  CHECK(call(R"("name":"search","arguments":{"query":"ada","limit":3})").at("isError").as_bool());
}

TEST_CASE("Several queries of one call each have conditions of their own", "[service][dialects]") {
  TestServer server([](const ExpandedQuery&) { return list_of({"a.example", "b.example", "c.example"}); });
  const Json found = json_of(
      server.post("/search", kJson, R"({"query":"site:a.example ada","queries":["site:b.example ada"]})"));
  CHECK(found.at("results").as_array().size() == 2);
}
