#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/json.h"
#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::test;

namespace {

const std::string kAdminHeader = "Authorization: Bearer admin-key\r\n";

std::string curation_config() {
  return "store: metafuse.db\nkeys:\n  - {name: admin, sha256: " + sha256_hex("admin-key") +
         ", roles: [admin]}\n";
}

JsonObject answer_to(TestServer& server, const std::string& query) {
  return parse_json(body_in(server.get("/search?format=json&q=" + query)), "answer").value().as_object();
}

std::string hosts_of(const JsonObject& answer) {
  std::string out;
  for (const Json& result : answer.at("results").as_array())
    out += std::string(result.at("url").as_string()).substr(7, 1);
  return out;
}

std::string etag_in(const std::string& response) {
  const std::size_t at = response.find("ETag: ");
  return at == std::string::npos ? "" : response.substr(at + 6, response.find('\r', at) - at - 6);
}

/// The hidden tags of the form on a page.
std::string tags_in(const std::string& page) {
  std::string out;
  for (const char* name : {"decisions_tag", "synonyms_tag"}) {
    const std::string before = "name=\"" + std::string(name) + "\" value=\"";
    const std::size_t at = page.find(before);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + before.size();
    out += "&" + std::string(name) + "=" + page.substr(begin, page.find('"', begin) - begin);
  }
  return out;
}

/// Sends the form of the curation of "pages" with the administrator's key.
std::string press_button(TestServer& server, const std::string& form) {
  return server.post("/curation/pages", "application/x-www-form-urlencoded", "key=admin-key&action=" + form);
}

std::string put(TestServer& server, const std::string& body, const std::string& etag) {
  RawClient client(server.port());
  client.send(
      "PUT /v1/curation/pages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
      "application/json\r\n" +
      kAdminHeader + "If-Match: " + etag + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
      body);
  return client.read_all();
}

}  // namespace

TEST_CASE("Curation counts from the next search on and is versioned", "[service][curation]") {
  TestServer server(TestServer::default_answer, curation_config());
  CHECK(hosts_of(answer_to(server, "ada")) == "badc");
  CHECK(status_in(server.get("/v1/curation/pages")) == 401);
  const std::string empty = server.get("/v1/curation/pages", kAdminHeader);
  CHECK(status_in(empty) == 200);
  const std::string body =
      R"({"queries":[{"query":"Ada","pinned":["http://d.example/"],"hidden":["http://b.example/"],)"
      R"("added":[{"url":"https://x.example/","title":"X"}]}],"synonyms":[["ada","countess"]]})";
  CHECK(status_in(put(server, "{\"queries\":1}", etag_in(empty))) == 422);
  CHECK(status_in(put(server, body, "\"other\"")) == 412);
  const std::string saved = put(server, body, etag_in(empty));
  CHECK(status_in(saved) == 200);
  const JsonObject answer = answer_to(server, "ada");
  CHECK(answer.at("number_of_results") == Json(4));
  const JsonArray& results = answer.at("results").as_array();
  REQUIRE(results.size() == 4);
  CHECK(results[0].at("url") == Json("http://d.example/"));
  CHECK(results[0].at("fusion").at("decided") == Json("pinned"));
  CHECK(results[1].at("url") == Json("https://x.example/"));
  CHECK(results[1].at("fusion").at("decided") == Json("added"));
  CHECK(server.get("/search?q=ada").find("pinned") != std::string::npos);
  CHECK(hosts_of(answer_to(server, "bob")) == "badc");  // another query
  const std::string again = server.get("/v1/curation/pages", kAdminHeader);
  CHECK(body_in(again) == body_in(saved));
  REQUIRE(status_in(put(server, "{}", etag_in(again))) == 200);
  CHECK(hosts_of(answer_to(server, "ada")) == "badc");
  const JsonObject versions =
      parse_json(body_in(server.get("/v1/curation/pages/versions", kAdminHeader)), "versions")
          .value()
          .as_object();
  CHECK(versions.at("versions").as_array().size() == 2);
  CHECK(body_in(server.get("/v1/curation/pages/versions/1", kAdminHeader)) == body_in(saved));
  CHECK(status_in(server.get("/v1/curation/pages/versions/3", kAdminHeader)) == 404);
}

TEST_CASE("A query is also asked with its synonyms", "[service][curation]") {
  TestServer server(
      [](const ExpandedQuery& query) {
        return list_of(query.text.find("countess") == std::string::npos
                           ? std::vector<std::string>{"a.example"}
                           : std::vector<std::string>{"e.example"});
      },
      curation_config());
  CHECK(hosts_of(answer_to(server, "ada")) == "a");
  const std::string etag = etag_in(server.get("/v1/curation/pages", kAdminHeader));
  REQUIRE(status_in(put(server, R"({"synonyms":[["ada","countess"]]})", etag)) == 200);
  const std::string hosts = hosts_of(answer_to(server, "ada"));
  CHECK(hosts.find('a') != std::string::npos);
  CHECK(hosts.find('e') != std::string::npos);
}

TEST_CASE("A hidden result stays in the lists that are learned from", "[service][curation]") {
  TestServer server(TestServer::default_answer, curation_config());
  const std::string etag = etag_in(server.get("/v1/curation/pages", kAdminHeader));
  REQUIRE(status_in(put(server, R"({"queries":[{"query":"ada","hidden":["http://b.example/"]}]})", etag)) ==
          200);
  const JsonObject answer = answer_to(server, "ada");
  CHECK(hosts_of(answer) == "adc");
  server.app().records().search_log->flush();
  const auto stored = server.app().records().store->searches.find(
      std::string(answer.at("fusion").at("search_id").as_string()));
  REQUIRE(stored.has_value());
  CHECK((*stored)->documents.size() == 4);
  CHECK((*stored)->shown.size() == 3);
  CHECK((*stored)->lists[0].documents.size() == 3);
}

TEST_CASE("The page of curation pins and forgets and needs the administrator's key", "[service][curation]") {
  TestServer server(TestServer::default_answer, curation_config());
  CHECK(server.get("/curation/pages").find("Key with the role admin") != std::string::npos);
  CHECK(status_in(server.post("/curation/pages", "application/x-www-form-urlencoded",
                              "key=wrong&action=show")) == 403);
  std::string page = press_button(server, "show");
  const auto press = [&](const std::string& form) {
    page = press_button(server, form + tags_in(page));
    return page;
  };
  const std::string pinned = press("pin&query=ada&url=http%3A%2F%2Fc.example%2F");
  CHECK(status_in(pinned) == 200);
  CHECK(pinned.find("pinned <code>http://c.example/</code>") != std::string::npos);
  CHECK(hosts_of(answer_to(server, "ada")) == "cbad");
  CHECK(pinned.find("name=\"query\" value=\"ada\"") != std::string::npos);
  CHECK(pinned.find("name=\"url\" value=\"\"") != std::string::npos);
  const std::string refused = press("pin&query=ada&url=nothing&title=T&snippet=S");
  CHECK(status_in(refused) == 422);
  for (const char* typed : {"\"query\" value=\"ada\"", "\"url\" value=\"nothing\"", "\"title\" value=\"T\"",
                            "\"snippet\" value=\"S\""})
    CHECK(refused.find(typed) != std::string::npos);
  CHECK(press("synonyms&synonyms=car,+automobile").find("car, automobile") != std::string::npos);
  // what was typed stays when it is refused, and when another button was pressed
  const std::string many = "synonyms&synonyms=alone";
  CHECK(status_in(press(many)) == 422);
  CHECK(press(many).find("alone</textarea>") != std::string::npos);
  const std::string other = press("hide&query=bob&url=http://b.example/&synonyms=tea,+cha");
  CHECK(status_in(other) == 200);
  CHECK(other.find("tea, cha</textarea>") != std::string::npos);
  CHECK(press("show").find("car, automobile\n</textarea>") != std::string::npos);
  CHECK(status_in(press("forget-1")) == 200);
  CHECK(status_in(press("forget-0")) == 200);
  CHECK(hosts_of(answer_to(server, "ada")) == "badc");
}

TEST_CASE("A form of curation does not undo what somebody else did since it was loaded",
          "[service][curation]") {
  TestServer server(TestServer::default_answer, curation_config());
  const std::string hides = "hide&query=bob&url=http://b.example/";
  REQUIRE(status_in(press_button(server, hides)) ==
          412);  // a form that says nothing of what it was made from
  const std::string first = press_button(server, "show");
  const std::string mine = press_button(server, hides + tags_in(first));
  REQUIRE(status_in(mine) == 200);
  // The first page has no row, so its "forget" cannot mean the new one.
  for (const char* late : {"forget-0", "pin&query=bob&url=http://b.example/&synonyms=tea,+cha"}) {
    const std::string refused = press_button(server, late + tags_in(first));
    CHECK(status_in(refused) == 412);
    CHECK(refused.find("Nothing was done") != std::string::npos);
    CHECK(refused.find("hidden <code>http://b.example/</code>") != std::string::npos);
  }
  const std::string refused =
      press_button(server, "pin&query=bob&url=http://b.example/&synonyms=tea,+cha" + tags_in(first));
  CHECK(refused.find("\"url\" value=\"http://b.example/\"") != std::string::npos);
  CHECK(refused.find("tea, cha</textarea>") != std::string::npos);
  // the synonyms are as both pages showed them, and the refused page knows the decisions
  CHECK(status_in(press_button(server, "synonyms&synonyms=car,+automobile" + tags_in(first))) == 200);
  CHECK(status_in(press_button(server, "forget-0" + tags_in(refused))) == 200);
  // what was typed for the old synonyms is not saved over the new ones, and both are shown
  const std::string late = press_button(server, "synonyms&synonyms=tea,+cha" + tags_in(refused));
  CHECK(status_in(late) == 412);
  CHECK(late.find("tea, cha</textarea>") != std::string::npos);
  CHECK(late.find("<pre>car, automobile\n</pre>") != std::string::npos);
  CHECK(status_in(press_button(server, "synonyms&synonyms=tea,+cha%0D%0Acar,+automobile" + tags_in(late))) ==
        200);
  // synonyms that nobody typed follow the saved ones
  const std::string shown =
      press_button(server, "pin&query=ada&url=http://c.example/&synonyms=" + tags_in(first));
  CHECK(shown.find("tea, cha\ncar, automobile\n</textarea>") != std::string::npos);
}

TEST_CASE("The page of curation takes a path, and the link of a file, for the file's URL",
          "[service][curation]") {
  TestServer server(TestServer::default_answer, curation_config());
  for (const char* copied :
       {"%2Fa+b%2Fc.md", "file%3A%2F%2Flocalhost%2Fa%2520b%2Fc.md",
        "http%3A%2F%2Fhost%3A8080%2Ffiles%2Fpages%3Fpath%3D%252Fa%2520b%252Fc.md%26sign%3D0123"}) {
    const std::string page = press_button(
        server, "pin&query=ada&url=" + std::string(copied) + tags_in(press_button(server, "show")));
    INFO(copied);
    CHECK(page.find("pinned <code>file://localhost/a%20b/c.md</code>") != std::string::npos);
    CHECK(page.find("c.md</code>") == page.rfind("c.md</code>"));
  }
  CHECK(press_button(server, "pin&query=ada&url=https%3A%2F%2Fa.example%2Ffiles%2Fx%3Fpath%3D%2Fy" +
                                 tags_in(press_button(server, "show")))
            .find("<code>https://a.example/files/x?path=/y</code>") != std::string::npos);
}
