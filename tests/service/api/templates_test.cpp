#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/json.h"
#include "core/text_file.h"
#include "service/config/snapshot.h"
#include "service/http/head.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kKey = "Authorization: Bearer admin-key\r\n";

std::string admin_config() {
  return "store: metafuse.db\nkeys:\n  - {name: admin, sha256: " + sha256_hex("admin-key") +
         ", roles: [admin]}\n  - {name: reader, sha256: " + sha256_hex("reader-key") + "}\n";
}

std::string etag_in(const std::string& response) {
  const std::size_t at = response.find("\r\nETag: ");
  REQUIRE(at != std::string::npos);
  return response.substr(at + 8, response.find("\r\n", at + 2) - at - 8);
}

std::string edited(const std::string& description) {
  std::string text = kTwoTemplates;
  text.replace(text.find("Home pages"), 10, description);
  return text;
}

std::string file_text(const TestServer& server) {
  std::ifstream in(server.folder().path("templates/pages.yaml"));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Changes the store as another program would.
void run_sql(const TestServer& server, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(server.folder().path("metafuse.db").c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("Templates are saved only with a key and a matching ETag and no mistakes", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const std::string etag = "If-Match: " + etag_in(server.get("/v1/templates/pages")) + "\r\n";
  const auto put = [&](const std::string& text, const std::string& headers) {
    return server.post("/v1/templates/pages", "application/yaml", text, headers, "PUT");
  };
  CHECK(status_in(put(edited("New"), etag)) == 401);
  CHECK(status_in(put(edited("New"), etag + "Authorization: Bearer reader-key\r\n")) == 403);
  CHECK(status_in(put(edited("New"), kKey)) == 428);
  CHECK(status_in(put(edited("New"), kKey + "If-Match: \"other\"\r\n")) == 412);
  const std::string bad = put("version: 1\ndomain: pages\nwat: 1\ntemplates: []\n", kKey + etag);
  CHECK(status_in(bad) == 422);
  CHECK(bad.find("pages.yaml:3:1: unknown key") != std::string::npos);
  std::string foreign = kTwoTemplates;
  foreign.replace(foreign.find("[one, two]"), 10, "[one, six]");
  const std::string unknown = put(foreign, kKey + etag);
  CHECK(status_in(unknown) == 422);
  CHECK(unknown.find("pages.yaml:9:31: template plain asks engine six") != std::string::npos);
  const std::string renamed = put("version: 1\ndomain: other\n" + kTwoTemplates.substr(25), kKey + etag);
  CHECK(renamed.find("pages.yaml:2:9: the domain is ") != std::string::npos);
  CHECK(file_text(server) == kTwoTemplates);
  const std::string done = put(edited("New"), kKey + etag);
  CHECK(status_in(done) == 200);
  CHECK(file_text(server) == edited("New"));
  CHECK(etag_in(server.get("/v1/templates/pages")) == etag_in(done));
  CHECK(status_in(put(edited("Newer"), kKey + etag)) == 412);
  // If-Match may be a list, or `*` for any version
  CHECK(status_in(put(edited("Newer"), kKey + "If-Match: \"other\", " + etag_in(done) + "\r\n")) == 200);
  CHECK(status_in(put(edited("Newest"), kKey + "If-Match: *\r\n")) == 200);
  CHECK(file_text(server) == edited("Newest"));
}

TEST_CASE("Every version of the templates is kept and can be restored", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const auto put = [&](const std::string& text) {
    const std::string etag = etag_in(server.get("/v1/templates/pages"));
    return server.post("/v1/templates/pages", "application/yaml", text, kKey + "If-Match: " + etag + "\r\n",
                       "PUT");
  };
  CHECK(status_in(put(edited("Second"))) == 200);
  CHECK(status_in(put(edited("Third"))) == 200);
  const auto versions = server.app().records().store->templates.all("pages");
  REQUIRE(versions.has_value());
  CHECK(versions->size() == 3);
  const auto open = [&](const std::string& number) {
    return server.post("/templates/pages", "application/x-www-form-urlencoded",
                       "action=version-" + number + "&etag=x&text=&key=admin-key");
  };
  CHECK(open("1").find("description: Home pages") != std::string::npos);
  CHECK(open("2").find("description: Second") != std::string::npos);
  CHECK(open("9").find("there is no version 9") != std::string::npos);
  CHECK(file_text(server) == edited("Third"));
}

TEST_CASE("The API lists and reads and restores versions of the templates", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const std::string versions = "/v1/templates/pages/versions";
  const auto if_match = [&] {
    return kKey + "If-Match: " + etag_in(server.get("/v1/templates/pages")) + "\r\n";
  };
  CHECK(status_in(server.get(versions)) == 401);
  CHECK(status_in(server.get(versions, "Authorization: Bearer reader-key\r\n")) == 403);
  CHECK(body_in(server.get(versions, kKey)) == R"({"domain":"pages","versions":[]})");
  CHECK(status_in(server.post("/v1/templates/pages", "application/yaml", edited("Second"), if_match(),
                              "PUT")) == 200);
  const auto list = parse_json(body_in(server.get(versions, kKey)), "versions");
  REQUIRE(list->at("versions").as_array().size() == 2);
  CHECK(list->at("versions").at(0).at("number") == Json(2));
  CHECK(list->at("versions").at(0).at("author") == Json("admin"));
  const std::string first = server.get(versions + "/1", kKey);
  CHECK(parse_json(body_in(first), "version")->at("text") == Json(kTwoTemplates));
  CHECK(etag_in(first) == '"' + service::text_etag(kTwoTemplates) + '"');
  for (const char* none : {"/0", "/9", "/x", "/-1", "/1e3", "/99999999999999999999"})
    CHECK(status_in(server.get(versions + none, kKey)) == 404);

  const auto revert = [&](const std::string& number, const std::string& headers) {
    return server.post(versions + "/" + number + "/revert", "application/json", "", headers);
  };
  CHECK(status_in(revert("1", "")) == 401);
  CHECK(status_in(revert("1", kKey)) == 428);
  CHECK(status_in(revert("1", kKey + "If-Match: \"old\"\r\n")) == 412);
  CHECK(status_in(revert("7", if_match())) == 404);
  CHECK(file_text(server) == edited("Second"));
  const std::string done = revert("1", if_match());
  CHECK(status_in(done) == 200);
  CHECK(file_text(server) == kTwoTemplates);
  CHECK(etag_in(done) == etag_in(server.get("/v1/templates/pages")));
  // a restored version is the latest one again
  CHECK(parse_json(body_in(server.get(versions, kKey)), "versions")->at("versions").as_array().size() == 3);
  TestServer bare(TestServer::default_answer,
                  "keys: [{name: admin, sha256: " + sha256_hex("admin-key") + ", roles: [admin]}]\n");
  CHECK(status_in(bare.get(versions, kKey)) == 404);
}

TEST_CASE("A save that is refused leaves no version and the text that was in use", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const auto put = [&](const std::string& text) {
    return status_in(
        server.post("/v1/templates/pages", "application/yaml", text, kKey + "If-Match: *\r\n", "PUT"));
  };
  const auto versions = [&] { return server.app().records().store->templates.all("pages")->size(); };
  const auto config = read_text(server.folder().path("metafuse.yaml"), 1 << 20).value();
  server.folder().write("metafuse.yaml", "version: 1\nwat: 1\n");  // so that nothing can be reloaded
  CHECK(put(edited("New")) == 409);
  CHECK(versions() == 0);
  CHECK(file_text(server) == kTwoTemplates);
  server.folder().write("metafuse.yaml", config);
  run_sql(server, "ALTER TABLE template_versions RENAME TO elsewhere");  // so that no version can be kept
  CHECK(put(edited("New")) == 503);
  CHECK(file_text(server) == kTwoTemplates);
  CHECK(server.get("/?domain=pages").find("New") == std::string::npos);
  run_sql(server, "ALTER TABLE elsewhere RENAME TO template_versions");
  CHECK(put(edited("New")) == 200);
  CHECK(versions() == 2);
}

TEST_CASE("A preview expands and searches under the edited file without saving it", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const auto preview = [&](const JsonObject& body) {
    return server.post("/v1/templates/pages/preview", "application/json", to_text(body), kKey);
  };
  std::string text = kTwoTemplates;
  text.replace(text.find("'{NAME}'"), 8, "'home of {NAME}'");
  const std::string answer = preview({{"text", text}, {"query", "ada"}, {"live", true}});
  CHECK(status_in(answer) == 200);
  CHECK(answer.find("\"query\":\"home of ada\"") != std::string::npos);
  CHECK(answer.find("http://b.example/") != std::string::npos);
  CHECK(status_in(preview({{"text", "version: ["}, {"query", "ada"}})) == 422);
  CHECK(status_in(preview({{"query", "ada"}, {"wat", 1}})) == 400);
  CHECK(file_text(server) == kTwoTemplates);
}

TEST_CASE("The editor works as plain forms", "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  const std::string page = body_in(server.get("/templates/pages"));
  const std::size_t at = page.find("name=\"etag\" value=\"");
  REQUIRE(at != std::string::npos);
  const std::string etag = page.substr(at + 19, 32);
  const auto send = [&](const std::string& act, const std::string& text, const std::string& key) {
    return body_in(server.post(
        "/templates/pages", "application/x-www-form-urlencoded",
        "action=" + act + "&query=ada&etag=" + etag + "&key=" + key + "&text=" + percent_encoded(text)));
  };
  CHECK(send("preview", edited("X"), "admin-key").find("Expanded queries") != std::string::npos);
  const std::string live = send("live", edited("X"), "admin-key");
  CHECK(live.find("Fused by rrf") != std::string::npos);
  // the lists, each under its number of results
  CHECK(live.find("<summary>3</summary><ol><li><a href=\"http://a.example/\"") != std::string::npos);
  const std::string wrong = send("preview", "version: 1\nwat: <2>\n", "admin-key");
  CHECK(wrong.find("data-line=\"2\"") != std::string::npos);
  CHECK(wrong.find("<pre>2  wat: &lt;2&gt;\n   ^</pre>") != std::string::npos);  // the line itself, marked
  CHECK(send("save", edited("X"), "").find("the key is unknown") != std::string::npos);
  CHECK(file_text(server) == kTwoTemplates);
  CHECK(send("save", edited("X"), "admin-key").find("Saved and in use.") != std::string::npos);
  CHECK(file_text(server) == edited("X"));
  CHECK(send("save", edited("Y"), "admin-key").find("changed since") != std::string::npos);
}

TEST_CASE("An edit that does not fit the model is refused with the lists that differ",
          "[service][templates]") {
  TestServer server(TestServer::default_answer, admin_config());
  server.folder().write("models/pages.json", R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"plain@one","kind":"rank","depth":10},{"name":"plain@two","kind":"rank","depth":10},{"name":"placed@one","kind":"rank","depth":10}],
"unranked":"absent","body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":1}]},"training":{}})");
  const auto reloaded = server.app().reloader().reload();
  INFO((reloaded ? "" : reloaded.error().text));
  REQUIRE(reloaded.has_value());
  const auto answer = parse_json(body_in(server.get("/search?q=ada&format=json&explain=1")), "a");
  CHECK(answer->at("fusion").at("method") == "rankboost");
  CHECK(answer->at("results").as_array()[0].at("url") == "http://a.example/");
  std::string text = kTwoTemplates;
  text.replace(text.find("[one, two]"), 10, "[one]");
  const std::string etag = "If-Match: " + etag_in(server.get("/v1/templates/pages")) + "\r\n";
  const std::string refused =
      server.post("/v1/templates/pages", "application/yaml", text, kKey + etag, "PUT");
  CHECK(status_in(refused) == 409);
  CHECK(refused.find("plain@two") != std::string::npos);
  CHECK(file_text(server) == kTwoTemplates);
}
