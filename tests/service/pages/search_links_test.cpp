#include <string>

#include <catch2/catch.hpp>

#include "core/text.h"
#include "service/http/preferences.h"
#include "tests/support/test_server.h"

// Where the links and forms of a results page lead, and what an error page keeps of the search.

using namespace metafuse;
using namespace metafuse::test;

namespace {

bool has_text(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

const std::string kYears =
    "version: 1\ndomain: pages\nslots:\n  QUERY: {required: true}\n  YEAR: {values: ['2023', '2024']}\n"
    "templates:\n  - {id: plain, engine: [one, two], query: '{QUERY} [{YEAR}]'}\n";

}  // namespace

TEST_CASE("Links of a search with marks keep what the marks chose", "[service][page]") {
  TestServer server;
  server.folder().write("templates/other.yaml",
                        "version: 1\ndomain: other\nslots: {QUERY: {required: true}}\n"
                        "templates: [{id: t, engine: one, query: '{QUERY}'}]\n");
  REQUIRE(server.app().reloader().reload().has_value());
  const std::string page = body_in(server.get("/search?q=%21one+:de+ada&limit=2"));
  CHECK(has_text(page, "value=\"!one :de ada\""));  // the box
  CHECK(has_text(page,
                 "<a href=\"/search?limit=2&amp;q=ada&amp;language=de\"><span class=\"hidden\">Remove "
                 "</span>Engine: one"));
  CHECK(has_text(page, "q=ada+site%3Ad.example&amp;engines=one&amp;language=de\""));
  const std::string other = body_in(server.get("/search?q=%21other+ada"));
  CHECK(has_text(other, "q=ada+site%3Ad.example&amp;domain=other\""));
}

TEST_CASE("A site is offered only if it can be asked for, in any script", "[service][page][preferences]") {
  TestServer server([](const ExpandedQuery&) {
    fetchers::FetchedList list = list_of({"my_host.example", "münchen.example", "a.example"});
    list.list.hits.push_back({"http://[::1]/x", "By address", "", "", "", {}});
    return list;
  });
  const std::string page = body_in(server.get("/search?q=ada"));
  CHECK(has_text(page, "q=ada+site%3Amy_host.example\""));
  CHECK(has_text(page, "q=ada+site%3Am%C3%BCnchen.example\""));
  CHECK_FALSE(has_text(page, "site%3A%3A"));
  const std::string narrowed = body_in(server.get("/search?q=ada+site%3Am%C3%BCnchen.example"));
  CHECK(has_text(narrowed, "1 result"));
  CHECK(has_text(narrowed, "site:münchen.example <span aria-hidden"));
  CHECK(has_text(body_in(server.get("/search?q=ada+site%3Amy_host.example")), "1 result"));

  CHECK(has_text(server.get("/preferences?site=m%C3%BCnchen.example"),
                 "name=\"block\" value=\"xn--mnchen-3ya.example\""));
  const std::string without = body_in(
      server.get("/search?q=ada", "Cookie: preferences=sites=!xn--mnchen-3ya.example|!my_host.example\r\n"));
  CHECK_FALSE(has_text(without, "http://münchen.example/"));
  CHECK_FALSE(has_text(without, "http://my_host.example/"));
  CHECK(has_text(without, "http://a.example/"));
}

TEST_CASE("A page whose results are all blocked says so and offers no filters",
          "[service][page][preferences]") {
  TestServer server([](const ExpandedQuery&) { return list_of({"wiki.example", "old.wiki.example"}); });
  const std::string cookie = "Cookie: preferences=sites=!wiki.example\r\n";
  const std::string page = body_in(server.get("/search?q=ada", cookie));
  CHECK(has_text(page, "2 results are on sites that you blocked."));
  CHECK_FALSE(has_text(page, "Nothing was found"));
  CHECK_FALSE(has_text(page, "class=\"filters\""));
  const std::string some =
      body_in(server.get("/search?q=ada", "Cookie: preferences=sites=!old.wiki.example\r\n"));
  CHECK_FALSE(has_text(some, "that you blocked"));
  CHECK(has_text(some, "http://wiki.example/"));
}

TEST_CASE("Forgetting a site leads back to the same page of results", "[service][page][preferences]") {
  TestServer server;
  CHECK(has_text(body_in(server.get("/search?q=ada&limit=2&pageno=2")),
                 "name=\"back\" value=\"/search?q=ada&amp;limit=2&amp;pageno=2\""));
  CHECK(has_text(body_in(server.get("/search?q=ada&limit=2")), "value=\"/search?q=ada&amp;limit=2\""));
}

TEST_CASE("The form of parts sends the plain query as typed and keeps any value", "[service][page]") {
  TestServer server(TestServer::default_answer, "", kYears);
  const std::string page = body_in(server.get("/search?q=ada+site%3Aa.example&slot.YEAR=2020"));
  CHECK(has_text(page, "name=\"q\" value=\"ada site:a.example\" required"));
  CHECK(has_text(page, "<option selected>2020</option>"));
  CHECK_FALSE(has_text(page, "slot.QUERY"));
  const std::string narrowed = body_in(server.get("/search?q=ada+site%3Aa.example&slot.YEAR=2023"));
  CHECK(has_text(narrowed, "<option selected>2023</option>"));
  CHECK(has_text(narrowed, "1 result"));
}

TEST_CASE("An error page keeps the query and the domain and the parts", "[service][page]") {
  TestServer server(TestServer::default_answer, "", kYears);
  server.folder().write("templates/two.yaml",
                        "version: 1\ndomain: two\nslots: {NAME: {required: true}, PLACE: {required: true}}\n"
                        "templates: [{id: t, engine: one, query: '{NAME} {PLACE}'}]\n");
  REQUIRE(server.app().reloader().reload().has_value());
  const std::string gone = server.get("/search?domain=two&q=ada&slot.PLACE=x&lists=gone");
  CHECK(status_in(gone) == 400);
  CHECK(has_text(gone, "type=\"search\" value=\"ada\""));
  CHECK(has_text(gone, "name=\"domain\" value=\"two\""));
  const std::string half = server.get("/search?domain=two&q=ada");
  CHECK(status_in(half) == 400);
  CHECK(has_text(half, "requires the slot PLACE"));
  CHECK(has_text(half, "<details class=\"slots\" open>"));
  CHECK(has_text(half, "name=\"q\" value=\"ada\" required"));
  CHECK(has_text(half, "name=\"slot.PLACE\" value=\"\" required"));
  CHECK_FALSE(has_text(server.get("/nowhere?q=ada", "Accept: text/html\r\n"), "value=\"ada\""));
}
