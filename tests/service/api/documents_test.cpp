#include <algorithm>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "core/sqlite_database.h"
#include "tests/support/serve_process.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

/// A server that reads documents.jsonl into its index every second, with a key that may write.
struct DocumentServer : ServeProcess {
  DocumentServer()
      : ServeProcess("127.0.0.1:0",
                     "default_domain: d\n"
                     "documents: [{index: local.db, folders: [documents.jsonl], every: 1s}]\n"
                     "keys: [{name: writer, roles: [write], sha256: " +
                         sha256_hex("writer-key") +
                         "}, {name: reader, roles: [search], sha256: " + sha256_hex("reader-key") + "}]\n") {}

  std::string ask(const std::string& method, const std::string& target, const std::string& type,
                  const std::string& body, const std::string& key = "writer-key") {
    RawClient client(port());
    client.send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                (key.empty() ? "" : "X-API-Key: " + key + "\r\n") +
                (type.empty() ? "" : "Content-Type: " + type + "\r\n") +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_all();
  }
  int put(const std::string& document) {
    return status_in(ask("PUT", "/v1/documents/d", "application/json", document));
  }
  /// The addresses that a search shows, joined by blanks.
  std::string found(const std::string& query) {
    const auto json = parse_json(body_in(get("/search?format=json&q=" + query)), "answer");
    std::string urls;
    if (json && json->is_object() && json->as_object().contains("results"))
      for (const Json& result : json->at("results").as_array())
        urls += (urls.empty() ? "" : " ") + std::string(result.at("url").as_string());
    return urls;
  }
  bool soon_finds(const std::string& query, const std::string& urls) {
    return becomes_true([&] { return found(query) == urls; });
  }
};

const std::string kLines = "application/x-ndjson";

}  // namespace

TEST_CASE("A server builds an index of another version or a damaged one again, and keeps another database",
          "[service][documents]") {
  DocumentServer server;
  CHECK(server.soon_finds("lovelace", "https://ada.example/"));
  const std::string index = server.folder().path("local.db");
  const auto change_index = [&](const std::string& sql) {
    CHECK(server.process().end(SIGTERM) == 0);
    CHECK(SqliteDatabase::open(index, {.mode = SqliteMode::create})->run(sql).has_value());
    server.start();
  };
  change_index("UPDATE meta SET value='1' WHERE name='version';");
  CHECK(server.soon_finds("lovelace", "https://ada.example/"));
  const auto has_logged = [&](const std::string& event) {
    return becomes_true([&] { return read_file(server.log()).find(event) != std::string::npos; });
  };
  CHECK(has_logged("\"event\":\"index of another version built again\""));
  const auto damage = [&](std::size_t begin, std::size_t end) {
    CHECK(server.process().end(SIGTERM) == 0);
    std::string bytes = read_file(index);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::min(end, bytes.size())), 'Z');
    server.folder().write("damaged", bytes);
    std::filesystem::rename(server.folder().path("damaged"), index);
    server.start();
    return bytes;
  };
  damage(4096, std::string::npos);
  CHECK(has_logged("\"event\":\"damaged index built again\""));
  CHECK(server.soon_finds("lovelace", "https://ada.example/"));
  const std::string unreadable = damage(0, 4096);
  CHECK(has_logged("\"event\":\"damaged index built again\""));
  CHECK(server.soon_finds("lovelace", "https://ada.example/"));
  CHECK((read_file(index + ".damaged") == unreadable));
  change_index("DROP TABLE meta;");
  CHECK(has_logged("\"level\":\"error\",\"event\":\"index not updated\""));
  CHECK(becomes_true(
      [&] { return server.get("/readyz").find("\nindexes: 1 cannot be") != std::string::npos; }));
  const auto answer = parse_json(body_in(server.get("/search?format=json&q=lovelace")), "answer");
  CHECK(to_text(*answer).find("unresponsive_engines\":[[\"local\"") != std::string::npos);
}

TEST_CASE("Documents that programs add and replace and remove are soon searched", "[service][documents]") {
  DocumentServer server;
  CHECK(server.soon_finds("lovelace", "https://ada.example/"));
  CHECK(server.put(R"({"url":"https://new.example/","title":"Otters","text":"otters swim"})") == 200);
  CHECK(server.soon_finds("otters", "https://new.example/"));
  const std::string batch =
      R"({"url":"https://new.example/","title":"Badgers","text":"badgers dig"})"
      "\n\n"
      R"({"url":"https://two.example/","title":"Wolves","text":"wolves run","year":2020,"colour":"grey"})"
      "\n";
  const std::string stored = server.ask("POST", "/v1/documents/d", kLines, batch);
  CHECK(status_in(stored) == 200);
  CHECK(parse_json(body_in(stored), "answer")->at("stored") == 2);
  CHECK(server.soon_finds("wolves", "https://two.example/"));
  CHECK(server.soon_finds("otters", ""));
  CHECK(server.found("badgers") == "https://new.example/");
  CHECK(
      server.put(R"({"url":"https://three.example/","title":"Voles\u202e","text":"voles\u0000dig\u001b"})") ==
      200);
  CHECK(server.soon_finds("voles", "https://three.example/"));
  const std::string page = body_in(server.get("/search?q=voles"));
  CHECK(page.find("dig") != std::string::npos);
  for (const std::string& acting : {std::string(1, '\0'), std::string("\x1b"), std::string("\xE2\x80\xAE")})
    CHECK(page.find(acting) == std::string::npos);
  // a document of a file can be removed, and stays away when its folder is read again
  const auto remove = [&](const std::string& url) {
    const std::string answer =
        server.ask("DELETE", "/v1/documents/d", "application/json", R"({"urls":[")" + url + R"("]})");
    CHECK(status_in(answer) == 200);
    return parse_json(body_in(answer), "answer")->at("removed").to_number<int>();
  };
  CHECK(remove("https://ada.example/") == 1);
  CHECK(remove("https://two.example/") == 1);
  CHECK(remove("https://three.example/") == 1);
  CHECK(remove("https://two.example/") == 0);
  CHECK(remove("https://nosuch.example/1") == 0);
  CHECK(server.soon_finds("wolves", ""));
  CHECK(server.soon_finds("lovelace", ""));
  server.folder().write("documents.jsonl", R"({"url":"https://ada.example/","title":"Ada","text":"lovelace"})"
                                           "\n"
                                           R"({"url":"https://file.example/","title":"Foxes","text":"foxes"})"
                                           "\n");
  CHECK(server.soon_finds("foxes", "https://file.example/"));
  CHECK(server.soon_finds("lovelace", ""));
  const auto state = parse_json(body_in(server.ask("GET", "/v1/documents/d", "", "")), "answer");
  REQUIRE(state.has_value());
  CHECK(state->at("documents") == 2);
  CHECK(state->at("last_step") == state->at("searched_step"));
}

TEST_CASE("Agents read the documents that they find by the addresses that they got",
          "[service][documents][mcp]") {
  DocumentServer server;
  const std::string text =
      "{\"url\":\"file://localhost/notes/otters.txt\",\"title\":\"Otters\","
      "\"tags\":[\"fish\",\"river\"],\"tame\":true,\"text\":\"otters swim\"}";
  REQUIRE(server.put(text) == 200);
  REQUIRE(server.soon_finds("otters", "file://localhost/notes/otters.txt"));
  CHECK(server.found("river") == "file://localhost/notes/otters.txt");
  const auto call = [&](const std::string& tool, const std::string& argument, const std::string& value) {
    const auto answer = parse_json(
        body_in(server.ask("POST", "/mcp", "application/json",
                           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
                               R"(","arguments":{")" + argument + R"(":")" + value + R"("}}})",
                           "")),
        "answer");
    return std::string(answer->at("result").at("content").at(0).at("text").as_string());
  };
  const auto results = parse_json(call("search", "query", "otters"), "results");
  const std::string id(results->at("results").at(0).at("id").as_string());
  const auto page = parse_json(call("fetch", "id", id), "page");
  CHECK(page->at("id").as_string() == id);
  CHECK(page->at("title") == "Otters");
  CHECK(page->at("text") == "otters swim");
  CHECK(call("fetch_page", "url", id) == "Otters\n" + id + "\n\notters swim");
  const auto extracted = parse_json(
      body_in(server.ask("POST", "/extract", "application/json", R"({"urls":")" + id + R"("})", "")),
      "answer");
  CHECK(extracted->at("results").at(0).at("raw_content") == "otters swim");
  CHECK(call("fetch", "id", "file://localhost/etc/passwd").find("must be http or https") !=
        std::string::npos);
}

TEST_CASE("A server that is killed keeps every document that it acknowledged", "[service][documents][kill]") {
  DocumentServer server;
  for (int i = 0; i < 4; ++i) {
    const std::string word = std::string("word") + static_cast<char>('a' + i);
    REQUIRE(server.put(R"({"url":"https://)" + word + R"(.example/","title":"t","text":")" + word +
                       R"("})") == 200);
    server.process().end(SIGKILL);
    server.start();
  }
  for (const std::string word : {"worda", "wordb", "wordc", "wordd"})
    CHECK(server.soon_finds(word, "https://" + word + ".example/"));
}

TEST_CASE("A request that cannot become documents changes nothing", "[service][documents]") {
  DocumentServer server;
  const auto refused = [&](const std::string& type, const std::string& body,
                           const std::string& method = "POST") {
    const std::string answer = server.ask(method, "/v1/documents/d", type, body);
    return std::to_string(status_in(answer)) + ' ' + body_in(answer);
  };
  const auto starts = [](const std::string& text, const std::string& status, const std::string& part) {
    INFO(text);
    return text.starts_with(status) && text.find(part) != std::string::npos;
  };
  const std::string good = R"({"url":"https://a.example/","title":"zebra"})"
                           "\n";
  CHECK(starts(refused(kLines, good + "{\"title\":\"no url\"}\n"), "422", "lines:2: no \\\"url\\\""));
  CHECK(starts(refused(kLines, good + "{\"url\":\n"), "422", "lines:2"));
  CHECK(starts(refused(kLines, good + R"({"url":7})"), "422", "lines:2: the url is not a text"));
  for (const std::string url : {"notes-42", "/docs/x", "urn:isbn:123", "javascript:alert(1)", "file:///x"})
    CHECK(starts(refused(kLines, good + R"({"url":")" + url + R"("})"), "422",
                 "lines:2: the url \\\"" + url + "\\\" names no scheme and host"));
  CHECK(starts(refused(kLines, good + R"({"url":"https://b.example/","a b":"x"})"), "422",
               "cannot be a column"));
  CHECK(starts(refused(kLines, good + R"({"url":"https://b.example/","title":1})"), "422",
               "is a number here and a text"));
  CHECK(starts(refused(kLines, " \n"), "422", "no document"));
  CHECK(starts(refused("application/json", "nonsense"), "400", ""));
  CHECK(starts(refused("application/json", "[]"), "422", "no document"));
  CHECK(starts(refused("text/plain", "x"), "415", ""));
  CHECK(starts(refused("application/json", R"({"urls":[]})", "DELETE"), "422", "no address"));
  CHECK(starts(refused("application/json", R"({"urls":[1]})", "DELETE"), "422", "list of texts"));
  CHECK(status_in(server.ask("PUT", "/v1/documents/other", "application/json", good)) == 404);
  CHECK(status_in(server.ask("PUT", "/v1/documents/d", "application/json", good, "reader-key")) == 403);
  CHECK(status_in(server.ask("PUT", "/v1/documents/d", "application/json", good, "")) == 401);
  const auto state = parse_json(body_in(server.ask("GET", "/v1/documents/d", "", "")), "answer");
  REQUIRE(state.has_value());
  CHECK(state->at("last_step") == 0);
  CHECK(server.found("zebra").empty());
}
